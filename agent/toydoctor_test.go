package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/textedit"
	"github.com/obstat/obstat/internal/guard/doctor"
)

// TestToyDoctor: doctor checks and proves an agent that was added to the list.
func TestToyDoctor(t *testing.T) {
	toys := append(agent.All(), agent.Toy())
	deny := func(stdin []byte) *agent.Reply {
		e, err := toys.Decode("toy", stdin, nil)
		if err != nil {
			r := e.Refuse(err.Error())
			return &r
		}
		r := e.Encode(&obstat.Decision{Verdict: obstat.Deny, Note: "no"}, nil)
		return &r
	}
	for _, c := range []struct {
		name, more string
		reply      func([]byte) *agent.Reply
		state      doctor.State
		codes      string
	}{
		{"holds", "", deny, doctor.Holds, ""},
		{"the hook lets everything run", "", func([]byte) *agent.Reply { return &agent.Reply{Stdout: []byte(`{"go":true}`)} }, doctor.Broken, "not-held not-held not-held unknown-tools-run fails-open"},
		{"the agent's own switch", `{"playful": true}`, deny, doctor.Broken, "hooks-off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			program := filepath.Join(home, "obstat")
			if err := os.WriteFile(program, []byte("x"), 0o755); err != nil {
				t.Fatal(err)
			}
			w := &agent.Where{Home: home, Projects: []string{dir}}
			for _, ch := range toys.Of("toy").Install(&agent.Request{Scope: agent.User, Where: w, Program: program}) {
				if err := textedit.ReplaceFile(ch.Name, 0o644, ch.Edit); err != nil {
					t.Fatal(err)
				}
			}
			if c.more != "" {
				if err := textedit.ReplaceFile(filepath.Join(dir, ".toy", "toy.json"), 0o644, func([]byte) ([]byte, error) { return []byte(c.more), nil }); err != nil {
					t.Fatal(err)
				}
			}
			r := doctor.Examine(t.Context(), &doctor.Options{All: toys, Where: w, Dir: dir, Env: func(string) string { return "" },
				Inspect:  func(string) (*doctor.Binary, error) { return &doctor.Binary{Obstat: true}, nil },
				Run:      func(_ context.Context, cmd *doctor.Command) *agent.Reply { return c.reply(cmd.Stdin) },
				Find:     func(string) ([]*dialect.Loaded, error) { return nil, nil },
				Deadline: func(string, []string) time.Duration { return time.Minute }})
			if len(r.Agents) != 1 || r.Agents[0].Name != "toy" || r.Agents[0].State != c.state {
				t.Fatalf("%+v", r.Agents)
			}
			var codes []string
			for _, f := range r.Agents[0].Findings {
				codes = append(codes, f.Code)
			}
			if got := strings.Join(codes, " "); got != c.codes {
				t.Errorf("%s, want %s", got, c.codes)
			}
			if proofs := len(r.Agents[0].Proofs); (proofs == 5) != (c.more == "") {
				t.Errorf("%d proofs", proofs)
			}
		})
	}
}
