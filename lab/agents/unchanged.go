package agents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/scripted"
)

// keepSame takes the recorded runs with obstat for its program of now, where that answers the same to every call
// of the hook: an agent hears of obstat by these answers alone.
func (p *pairing) keepSame() {
	recorded, err := ReadPairs(p.pairsName(p.agent.Name))
	if err != nil {
		fmt.Fprintf(p.out, "nothing is recorded: %v\n", err)
		return
	}
	kept := 0
	for i := range recorded {
		pair := &recorded[i]
		if _, have := p.shelf.get(pair.Cell); have || pair.With == nil || pair.Version != p.agent.Version {
			continue
		}
		p.n++
		r := p.run(p.n)
		why := p.differs(pair, r)
		if err := r.tidy(); err != nil {
			fmt.Fprintln(p.out, err)
		}
		if why != "" {
			fmt.Fprintf(p.out, "again: %s: %s\n", pair.Cell.String(), why)
			continue
		}
		kept++
		p.shelf.keep(halfRun{Cell: pair.Cell, Obstat: p.digest, Half: pair.With})
	}
	fmt.Fprintf(p.out, "%s: %d of %d recorded runs are as they would be now\n", p.agent.Title, kept, len(recorded))
}

// differs gives the calls of a recorded run to obstat's hook, and says where the answer is another one; "" where
// all are the same.
func (p *pairing) differs(pair *Pair, r *run) string {
	a := *p.agent
	a.driver = p.field.drive(&pair.Cell)
	r.model = scripted.Idle()
	ctx, cancel := context.WithTimeout(context.Background(), pairLimit)
	defer cancel()
	if err := r.prepareCell(ctx, &a, &pair.Cell, true); err != nil {
		return err.Error()
	}
	for i := range pair.With.Passed {
		was := &pair.With.Passed[i]
		now := was.In(r.dir)
		args := slices.DeleteFunc(slices.Clone(now.Args), func(arg string) bool { return arg == "--serve" })
		var out bytes.Buffer
		cmd := exec.CommandContext(ctx, filepath.Join(r.dir, "real", "obstat"), args...)
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout = r.project(), append(r.env(), now.Env...), strings.NewReader(now.Stdin), &out
		var status *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &status) {
			return err.Error()
		}
		then, today := Effect(was.Stdout, was.Exit), Effect(out.String(), cmd.ProcessState.ExitCode())
		if then != today {
			return fmt.Sprintf("the hook says %s, and said %s", today, then)
		}
	}
	return ""
}
