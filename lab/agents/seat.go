package agents

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/desk"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/store"
)

// asked tells whether requests come to obstat ask in the scenario.
func (s *scenario) asked() bool { return s.answers != nil || s.dies }

// A seat is a person at `obstat ask` with the scenario's answers.
type seat struct {
	*scenario
	run    *run
	store  store.Store
	broker *approval.Broker
	leave  func()

	mu       sync.Mutex
	answered int
	problem  string
}

// sit takes a seat at the run's requests.
func (r *run) sit(s *scenario) (*seat, error) {
	db := r.home(".local/state/obstat/obstat.db")
	out, err := store.Open(context.Background(), db)
	if err != nil {
		return nil, err
	}
	left, err := desk.Sit(db)
	if err != nil {
		return nil, err
	}
	return &seat{scenario: s, run: r, store: out, broker: approval.New(out, nil),
		leave: func() { left(); _ = out.Close() }}, nil
}

// during returns the person's part while the agent runs.
func (p *seat) during() func(*exec.Cmd) func() {
	if p == nil {
		return nil
	}
	return func(agent *exec.Cmd) func() {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
				p.look(ctx, agent)
			}
		}()
		return func() { cancel(); <-done }
	}
}

// look answers the oldest request, or kills the agent that waits for an answer.
func (p *seat) look(ctx context.Context, agent *exec.Cmd) {
	open, err := p.broker.Pending(ctx)
	if err != nil || len(open) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dies {
		p.answered++
		_ = agent.Cancel()
		endStrays(mark(p.run.dir))
		return
	}
	a := p.answers[min(p.answered, len(p.answers)-1)]
	a.By = "lab"
	if _, err := p.broker.Answer(ctx, open[0].ID, a); err != nil {
		p.problem = fmt.Sprintf("the answer was not taken: %v", err)
		return
	}
	p.answered++
}

// wrong says how the requests were wrong, "" if they were not.
func (p *seat) wrong() string {
	if p == nil {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.problem != "":
		return p.problem
	case p.dies && p.answered == 0:
		return "nobody was asked"
	case !p.dies && p.answered != p.asks:
		return fmt.Sprintf("%d requests came, not %d", p.answered, p.asks)
	}
	if open, err := p.broker.Pending(context.Background()); err != nil || len(open) > 0 {
		return fmt.Sprintf("%d requests are still open (%v)", len(open), err)
	}
	return ""
}

// untold says that the ledger does not tell the outcome of a call, "" if it does.
func (r *run) untold(s *scenario) string {
	if s.told == "" {
		return ""
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		have, err := r.outcomes()
		if strings.Contains(" "+have+" ", " "+s.told+" ") {
			return ""
		}
		if time.Now().After(end) {
			return fmt.Sprintf("the ledger has %q of what became of calls, not %q (%v)", have, s.told, err)
		}
	}
}

// outcomes returns the outcomes that the ledger has.
func (r *run) outcomes() (string, error) {
	s, err := store.Open(context.Background(), r.home(".local/state/obstat/obstat.db"))
	if err != nil {
		return "", err
	}
	defer s.Close()
	var out []string
	for rec, err := range s.Records(context.Background(), ledger.Query{}) {
		if err != nil {
			return "", err
		}
		if rec.Kind == ledger.Outcome {
			out = append(out, rec.Verdict)
		}
	}
	return strings.Join(out, " "), nil
}
