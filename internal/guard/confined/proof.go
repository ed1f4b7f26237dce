package confined

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/internal/keep/statedir"
)

// A Proof says that an agent, in a version, runs the changed text of a command: `obstat doctor` keeps it
// where the version here is the one that was tried. It holds as long as the agent's program stays the
// same file.
type Proof struct {
	Agent   string `json:"agent"`
	Version string `json:"version"`
	Program string `json:"program"` // as PATH finds it
	Stamp   string `json:"stamp"`   // of the program's file
}

func proofFile(state, agent string) string {
	return filepath.Join(state, "confined", "proof-"+filepath.Base(agent)+".json")
}

// Prove keeps a proof for an agent whose program is at a path.
func Prove(state, agent, version, program string) error {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return err
	}
	text, err := json.Marshal(Proof{agent, version, program, stampOf(real)})
	if err != nil {
		return err
	}
	name := proofFile(state, agent)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return statedir.Replace(name, text)
}

// Unproved says why it is not proved that an agent runs a changed command, "" where it is.
func Unproved(state, agent string) string {
	const how = "; `obstat doctor` proves it"
	text, err := os.ReadFile(proofFile(state, agent))
	if errors.Is(err, os.ErrNotExist) {
		return "it is not proved that " + agent + " runs a changed command" + how
	}
	var p Proof
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return fmt.Sprintf("the proof for %s cannot be read: %v", agent, err)
	}
	if real := realOf(p.Program); p.Agent != agent || p.Stamp == "" || stampOf(real) != p.Stamp {
		return agent + " is not the program any more that was proved to run a changed command" + how
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
