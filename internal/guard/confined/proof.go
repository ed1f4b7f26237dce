package confined

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat/internal/keep/statedir"
)

// A Proof says that an agent, in a version, runs the changed text of a command: `obstat doctor` keeps it
// where the version here is the one that was tried, or where it has started the agent to see. It holds as long as the
// agent's program stays the same file, and as long as the agent was not seen to run another text.
type Proof struct {
	Agent   string `json:"agent"`
	Version string `json:"version"`
	Program string `json:"program"`          // as PATH finds it
	Stamp   string `json:"stamp"`            // of the program's file
	Driven  bool   `json:"driven,omitempty"` // this very program was started and seen to run a changed command
	// Against is the time of a call that is over and whose ticket was not spent: the agent ran another text, "" for none.
	Against string `json:"against,omitempty"`
}

func proofFile(state, agent string) string {
	return filepath.Join(state, "confined", "proof-"+filepath.Base(agent)+".json")
}

// Prove keeps a proof for an agent whose program is at a path.
func Prove(state, agent, version, program string) error {
	return prove(state, &Proof{Agent: agent, Version: version, Program: program})
}

// ProveDriven keeps that the program was started and seen to run a changed command. What was seen against it before is
// forgotten.
func ProveDriven(state, agent, version, program string) error {
	return prove(state, &Proof{Agent: agent, Version: version, Program: program, Driven: true})
}

func prove(state string, p *Proof) error {
	real, err := filepath.EvalSymlinks(p.Program)
	if err != nil {
		return err
	}
	p.Stamp = stampOf(real)
	if old, err := proofOf(state, p.Agent); err == nil && old.Stamp == p.Stamp && !p.Driven {
		p.Against, p.Driven = old.Against, old.Driven
	}
	return p.keep(state)
}

// Driven tells whether this very program was started and seen to run a changed command.
func Driven(state, agent, program string) bool {
	p, err := proofOf(state, agent)
	return err == nil && p.Driven && p.Program == program && p.Stamp != "" && p.Stamp == stampOf(realOf(program))
}

func (p *Proof) keep(state string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	name := proofFile(state, p.Agent)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return statedir.Replace(name, text)
}

func proofOf(state, agent string) (p Proof, err error) {
	text, err := os.ReadFile(proofFile(state, agent))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

// Ran looks after a call whether the agent ran the changed text that it was told: then the ticket in it is spent. Where
// it is not, the proof ends, for as long as the agent's program stays the same file. use is the agent's name for the
// call.
func Ran(state, agent, use string, now time.Time) {
	if use == "" || !unspent(state, agent, use) {
		return
	}
	if p, err := proofOf(state, agent); err == nil {
		p.Against = now.UTC().Format(time.RFC3339)
		_ = p.keep(state) // the ticket stays unspent, and the next call looks again
	}
}

// Unproved says why it is not proved that an agent runs a changed command, "" where it is.
func Unproved(state, agent string) string {
	how := "; `obstat doctor --drive " + agent + "` proves it"
	p, err := proofOf(state, agent)
	if errors.Is(err, os.ErrNotExist) {
		return "it is not proved that " + agent + " runs a changed command" + how
	}
	if err != nil {
		return fmt.Sprintf("the proof for %s cannot be read: %v", agent, err)
	}
	if real := realOf(p.Program); p.Agent != agent || p.Stamp == "" || stampOf(real) != p.Stamp {
		return agent + " is not the program any more that was proved to run a changed command" + how
	}
	if p.Against != "" {
		return fmt.Sprintf("%s did not run a changed command at %s, or its ticket could not be spent", agent, p.Against)
	}
	return ""
}

// Disprove forgets a proof.
func Disprove(state, agent string) error {
	if err := os.Remove(proofFile(state, agent)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
