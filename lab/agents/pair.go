package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/scripted"
)

// A Half is one of the two runs of a cell.
type Half struct {
	// Ran: the call had its effect. Began: the agent took the call up, whatever became of it.
	Ran, Began bool
	Words      string   `json:",omitempty"` // that the model was told
	Passed     []Passed `json:",omitempty"` // the calls of obstat's hook
}

// The contents of the files that the calls are about.
const (
	editFrom = "before"
	editTo   = "after"
	secret   = "kept-7261" // in the file that is read; the command does not name it
)

// probe returns the calls of a kind, and how their effect is seen.
func (c *Cell) probe(r *run) (do []action, ran func(told []string) bool) {
	other := func(name string) string { return filepath.Join(r.dir, "other", name) }
	see := func(name string) func([]string) bool {
		return func([]string) bool { return there(name)(r) }
	}
	switch c.Kind {
	case kindRead:
		return []action{shell("cat " + kept)}, func(told []string) bool {
			return strings.Contains(strings.Join(told, ""),
				secret)
		}
	case kindTouch:
		return []action{shell("touch ran.txt")}, see("project/ran.txt")
	case kindCreate:
		return []action{write("project/new.txt")}, see("project/new.txt")
	case kindEdit:
		return []action{{do: doEdit, path: "project/edit.txt"}}, func([]string) bool {
			return holds("project/edit.txt",
				editTo+"\n")(r)
		}
	case kindMCP:
		return []action{mcp("touch", "project/mcp.txt")}, see("project/mcp.txt")
	case kindOutside:
		return []action{write("other/out.txt")}, see("other/out.txt")
	case kindStray:
		return []action{shell("touch " + other("stray.txt"))}, see("other/stray.txt")
	}
	return []action{{do: doEscalate, what: "touch " + other("left.txt")}}, see("other/left.txt")
}

// pairLimit is how long one run of a pair may take on a busy machine.
const pairLimit = 2 * time.Minute

// play runs one half of a cell in r's directory.
func (f *field) play(c *Cell, a Agent, r *run, with bool) (*Half, error) {
	if why := r.whyNot(); why != "" {
		return nil, errors.New(why)
	}
	a.driver = f.drive(c)
	do, ran := c.probe(r)
	s := &scenario{main: do, dies: true} // dies: nothing is asked for afterwards
	model, err := scripted.New(s.script(&a, r.dir))
	if err != nil {
		return nil, err
	}
	defer model.Close()
	model.Verdict = a.driver.verdict
	r.model = model
	if r.keep {
		model.Dump = r.dir
	}
	ctx, cancel := context.WithTimeout(context.Background(), pairLimit)
	defer cancel()
	if err := r.prepareCell(ctx, &a, c, with); err != nil {
		return nil, err
	}
	hung, err := r.start(&a, &scenario{}, pairLimit, nil)
	if err != nil {
		return nil, err
	}
	told := model.Results(scripted.MainMarker)
	h := &Half{Ran: ran(told), Words: r.clean(strings.Join(told, "\n"))}
	h.Began = h.Ran || r.began(told, len(s.script(&a, r.dir)[scripted.MainMarker]))
	if hung {
		return h, fmt.Errorf("the agent hung: %s", r.lastLines())
	}
	if with {
		h.Passed, err = r.passed()
	}
	return h, err
}

// began tells whether the agent took the last call up: the model heard of it, or the agent's output has its
// end, where a refusal ends the turn.
func (r *run) began(told []string, calls int) bool {
	if len(told) >= calls {
		return true
	}
	log, err := os.ReadFile(r.logName())
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, scripted.CallID(scripted.MainMarker, calls-1)) && strings.Contains(line, `"status":"error"`) {
			return true
		}
	}
	return false
}

// clean shortens the words that the model was told.
func (r *run) clean(words string) string {
	words = strings.Join(strings.Fields(strings.ReplaceAll(words, r.dir, runDir)), " ")
	const most = 400
	if len(words) > most {
		words = strings.ToValidUTF8(words[:most], "") + "..."
	}
	return words
}

// prepareCell lays the directories out, and installs obstat in the run that is with it.
func (r *run) prepareCell(ctx context.Context, a *Agent, c *Cell, with bool) error {
	for _, dir := range []string{"home", "project", "other", "bin", "tmp"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o755); err != nil {
			return err
		}
	}
	err := errors.Join(r.write(filepath.Join(r.project(), kept), secret+"\n"),
		r.write(filepath.Join(r.project(), "edit.txt"), editFrom+"\n"), a.driver.setup(r))
	if err != nil || !with {
		return err
	}
	if name, text := c.policyFile(r.programs); name != "" {
		if err := r.write(filepath.Join(r.project(), name), text); err != nil {
			return err
		}
	}
	if err := r.install(ctx, a, &scenario{}); err != nil {
		return err
	}
	if err := r.obstat(ctx, "trust", "--yes"); err != nil {
		return err
	}
	return r.watch()
}

// everything is said of all calls, in the sentences of obstat.yaml.
const everything = `["read, write and delete anywhere", run anything, connect anywhere, tool anything, code, system]`

// policyFile returns the file of a cell's policy in the project; "" where there is none.
func (c *Cell) policyFile(programs map[string]string) (name, text string) {
	switch c.Policy {
	case policyAllow:
		return "obstat.yaml", "version: 1\nallow: " + everything + "\n"
	case policyAsk:
		return "obstat.yaml", "version: 1\nask: " + everything + "\n"
	case policyDeny:
		return "obstat.yaml", "version: 1\ndeny: " + everything + "\n"
	case policyOver:
		return "obstat.yaml", overText
	case policyDialect:
		return "obstat.json", programs[c.Agent]
	}
	return "", ""
}

// overText allows everything over an agent's own reviewers.
const overText = `version: 1
allow:
  - {rule: "read, write and delete anywhere", over: [auto-mode, reviewer]}
  - {rule: run anything, over: [auto-mode, reviewer]}
  - {rule: connect anywhere, over: [auto-mode, reviewer]}
  - {rule: tool anything, over: [auto-mode, reviewer]}
  - {rule: code, over: [auto-mode, reviewer]}
  - {rule: system, over: [auto-mode, reviewer]}
`
