package opencode

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/policy"
)

// theirs returns opencode's package in its sources, with what it needs installed, and the program that runs its tests.
func theirs(t *testing.T) (dir, bun string) {
	t.Helper()
	dir, bun = os.Getenv("OBSTAT_OPENCODE"), os.Getenv("OBSTAT_BUN")
	if dir == "" || bun == "" {
		t.Skip("`make test-originals` runs it: it needs opencode's sources in OBSTAT_OPENCODE and Bun in OBSTAT_BUN")
	}
	return filepath.Join(dir, "packages", "opencode"), bun
}

// bunTest runs files of opencode's tests, in a package beside `packages/opencode`, and answers their questions on two
// descriptors of their process.
func bunTest(t *testing.T, answer func(op string, args json.RawMessage) (any, error), beside string, args ...string) (string, error) {
	t.Helper()
	dir, bun := theirs(t)
	dir = filepath.Join(filepath.Dir(dir), beside)
	replyRead, replyWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	askRead, askWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bun, append([]string{"test", "--timeout", "60000"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "BUN_BE_BUN=1", "HOME="+t.TempDir())
	cmd.ExtraFiles = []*os.File{replyRead, askWrite}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	replyRead.Close()
	askWrite.Close()
	asked := bufio.NewReader(askRead)
	for {
		line, err := asked.ReadBytes('\n')
		if err != nil {
			break
		}
		replyWrite.Write(replied(line, answer))
	}
	replyWrite.Close()
	askRead.Close()
	err = cmd.Wait()
	return out.String(), err
}

// replied answers a line of JSON with one.
func replied(line []byte, answer func(string, json.RawMessage) (any, error)) []byte {
	var req struct {
		Op   string          `json:"op"`
		Args json.RawMessage `json:"args"`
	}
	out := map[string]any{}
	err := json.Unmarshal(line, &req)
	if err == nil {
		out["value"], err = answer(req.Op, req.Args)
	}
	if err != nil {
		out = map[string]any{"error": err.Error()}
	}
	data, err := json.Marshal(out)
	if err != nil {
		data = []byte(`{"error":"the reply is no JSON"}`)
	}
	return append(data, '\n')
}

// elsewhere has the tests that need a network, and fail without one with opencode's own module as well.
var elsewhere = []string{"project reference directories are allowed for external_directory"}

// TestOriginals runs opencode's own tests of its permissions with this package and the dialect in its module's place: of
// the module itself, of agents and their subagents, of the shell tool's asks, and of the next module, PermissionV2, whose
// rules are evaluated here. docs/frameworks/opencode.md lists the tests about permissions that decide nothing.
func TestOriginals(t *testing.T) {
	theirs(t)
	preload, err := filepath.Abs("testdata/originals/preload.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		beside string
		files  []string
		tests  int // at least
		asked  int // at least
	}{
		{"opencode", []string{"test/permission/next.test.ts", "test/permission/arity.test.ts", "test/permission-task.test.ts"}, 106, 100},
		{"opencode", []string{"test/agent/agent.test.ts", "test/agent/plan-mode-subagent-bypass.test.ts"}, 47, 50},
		{"opencode", []string{"test/tool/shell.test.ts"}, 23, 5},
		{"core", []string{"test/permission.test.ts"}, 11, 15},
	} {
		h := &originals{t: t, opened: map[int]*Instance{}, waits: map[string]*waiting{}, rules: map[string]*dialect.Loaded{}}
		out, _ := bunTest(t, h.answer, tt.beside, append([]string{"--preload", preload}, tt.files...)...)
		failed := failing(out)
		passed := strings.Count(out, "\n(pass) ")
		t.Logf("%s %v: %d pass, %d fail, %d questions", tt.beside, tt.files, passed, len(failed), h.asked)
		if h.asked < tt.asked || len(failed) > 0 || passed < tt.tests {
			t.Errorf("%s %v: %d questions were asked, %d tests passed, and this failed: %v\n%s", tt.beside, tt.files, h.asked, passed,
				failed, failures(out))
		}
	}
}

// failing returns the names of the tests that failed, less those that fail in the original as well.
func failing(out string) (names []string) {
	for line := range strings.Lines(out) {
		name, ok := strings.CutPrefix(line, "(fail) ")
		own := slices.ContainsFunc(elsewhere, func(s string) bool { return strings.Contains(name, s) })
		if ok && !own && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// failures returns the lines of a run that name the tests that failed, and why.
func failures(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "(pass)") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// originals answers for opencode's permission module.
type originals struct {
	t      *testing.T
	asked  int
	opened map[int]*Instance
	subs   map[int]*Subscription
	waits  map[string]*waiting
	mu     sync.Mutex
	rules  map[string]*dialect.Loaded // by the call that they came with
}

// A waiting is a request under the identifier that opencode has for it.
type waiting struct {
	instance int
	*Wait
	cancel context.CancelFunc
	said   chan string
}

// An asking is what opencode's module is called with.
type asking struct {
	Permission, Pattern, Directory, ID, Reply, Message string
	Instance                                           int
	Tokens, Tools                                      []string
	Rules, Ruleset                                     opencode.Ruleset
}

func (h *originals) answer(op string, args json.RawMessage) (any, error) {
	h.asked++
	var a asking
	if op == "fromConfig" {
		return fromConfig(args)
	}
	var req Request
	if err := errors.Join(json.Unmarshal(args, &a), json.Unmarshal(args, &req)); err != nil {
		return nil, err
	}
	switch op {
	case "evaluate":
		return evaluated(&a)
	case "disabled":
		return disabled(&a)
	case "prefix":
		return prefix(a.Tokens)
	case "open":
		return h.open(a.Directory)
	case "close":
		return nil, h.opened[a.Instance].Close(h.t.Context())
	case "put":
		return h.put(&a, req)
	case "result":
		return map[string]string{"said": h.waits[a.ID].now()}, nil
	case "cancel":
		h.waits[a.ID].cancel()
		return nil, nil
	case "reply":
		return h.reply(&a)
	case "list":
		return h.list(a.Instance)
	}
	return nil, errors.New("no such question: " + op)
}

// load compiles rules in the program's order; each is a file of its own, so that none is merged with another.
func load(rules opencode.Ruleset, home string) (*dialect.Loaded, error) {
	in := &dialect.Input{Options: map[string]string{"floor": "off", "order": "last"}, Home: home}
	in.Files = append(in.Files, dialect.File{Name: "opencode.json", Data: []byte(`{"permission":{}}`)})
	for i := range rules {
		r := map[string]any{rules[i].Permission: map[string]any{rules[i].Pattern: rules[i].Action.String()}}
		data, err := json.Marshal(map[string]any{"permission": r})
		if err != nil {
			return nil, err
		}
		in.Files = append(in.Files, dialect.File{Name: fmt.Sprintf("rule-%d.json", i), Layer: "session", Data: data})
	}
	return dialect.Load(opencode.Dialect{}, in)
}

func fromConfig(args json.RawMessage) (any, error) {
	var a struct {
		Permission json.RawMessage `json:"permission"`
		Home       string          `json:"home"`
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	data := slices.Concat([]byte(`{"permission":`), a.Permission, []byte("}"))
	l, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "opencode.json", Data: data}},
		Options: map[string]string{"floor": "off"}, Home: a.Home})
	if err != nil {
		return nil, err
	}
	out := opencode.Ruleset{}
	for i := range l.Program.Rules["rules"] {
		out = append(out, opencode.RuleOf(&l.Program.Rules["rules"][i]))
	}
	return out, nil
}

func evaluated(a *asking) (any, error) {
	v, r := a.Rules.Evaluate(opencode.Last, a.Permission, a.Pattern)
	if r == nil {
		return opencode.Rule{Permission: a.Permission, Pattern: "*", Action: v}, nil
	}
	return r, nil
}

func disabled(a *asking) (any, error) {
	l, err := load(a.Rules, "")
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, tool := range a.Tools {
		if l.Policy.Reach(tool, "").Loosest == obstat.Deny {
			out = append(out, tool)
		}
	}
	return out, nil
}

// prefix takes the words from the pattern of "always": `git checkout *`.
func prefix(tokens []string) (any, error) {
	if len(tokens) == 0 {
		return []string{}, nil
	}
	input, err := json.Marshal(map[string]string{"command": strings.Join(tokens, " ")})
	if err != nil {
		return nil, err
	}
	asks, err := opencode.Asks(opencode.Last, false, &obstat.Call{Tool: "bash", Input: input, Dir: "/p"}, &obstat.Snapshot{})
	if err != nil || len(asks) == 0 || len(asks[0].Always) == 0 {
		return nil, cmp.Or(err, errors.New("there is no pattern"))
	}
	return strings.Fields(strings.TrimSuffix(asks[0].Always[0], "*")), nil
}

// InForce returns the rules that a call came with.
func (h *originals) InForce(c *obstat.Call) (*policy.InForce, error) {
	return policy.Of(h.rules[key(c)]), nil
}

// Accept keeps no rule: opencode keeps its approvals with the process.
func (h *originals) Accept(context.Context, *gate.Accepted) error {
	return errors.New("there is no file")
}

func key(c *obstat.Call) string { return c.Dir + " " + c.Session + " " + c.Tool }

func (h *originals) open(directory string) (any, error) {
	i, err := Open(h.t.Context(), Options{Directory: directory, Gate: gate.Options{Policy: h, NoStart: true,
		World: &obstat.Snapshot{HomeDir: "/home/u"}}})
	if err != nil {
		return nil, err
	}
	n := len(h.opened) + 1
	h.opened[n] = i
	if h.subs == nil {
		h.subs = map[int]*Subscription{}
	}
	h.subs[n] = i.Subscribe()
	return n, nil
}

func (h *originals) put(a *asking, req Request) (any, error) {
	l, err := load(a.Ruleset, "")
	if err != nil {
		return nil, err
	}
	i := h.opened[a.Instance]
	h.mu.Lock()
	h.rules[key(&obstat.Call{Dir: i.opts.Directory, Session: req.SessionID, Tool: req.Permission})] = l
	h.mu.Unlock()
	w, err := i.Put(h.t.Context(), req)
	var denied *DeniedError
	switch {
	case errors.As(err, &denied):
		return map[string]any{"said": "denied", "events": []any{}}, nil
	case err != nil:
		return nil, err
	case w == nil:
		return map[string]any{"said": "allowed", "events": []any{}}, nil
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	said := make(chan string, 1)
	go func() { said <- word(w.Result(ctx)) }()
	h.waits[a.ID] = &waiting{a.Instance, w, cancel, said}
	return map[string]any{"said": "wait", "events": h.events(a.Instance)}, nil
}

// word is how a request has ended.
func word(err error) string {
	var corrected *CorrectedError
	var denied *DeniedError
	switch {
	case err == nil:
		return "allowed"
	case errors.As(err, &corrected):
		return "corrected:" + corrected.Feedback
	case errors.As(err, &denied):
		return "denied"
	}
	return "rejected"
}

// now returns how the request has ended, "wait" where it has not.
func (w *waiting) now() string {
	select {
	case s := <-w.said:
		return s
	default:
		return "wait"
	}
}

// shown returns a request under opencode's identifier for it.
func (h *originals) shown(id string) string {
	for name, w := range h.waits {
		if w.Request.ID == id {
			return name
		}
	}
	return id
}

// events returns what an instance has told since it was last asked.
func (h *originals) events(instance int) []any {
	out := []any{}
	for {
		select {
		case e, ok := <-h.subs[instance].Events():
			if !ok {
				return out
			}
			data := map[string]any{}
			text, err := json.Marshal(e.Properties)
			if err == nil {
				err = json.Unmarshal(text, &data)
			}
			if err != nil {
				h.t.Error(err)
			}
			for _, k := range []string{"id", "requestID"} {
				if id, ok := data[k].(string); ok {
					data[k] = h.shown(id)
				}
			}
			out = append(out, map[string]any{"type": e.Type, "data": data})
		default:
			return out
		}
	}
}

func (h *originals) reply(a *asking) (any, error) {
	id := a.ID
	if w := h.waits[a.ID]; w != nil && w.instance == a.Instance {
		id = w.Request.ID
	}
	err := h.opened[a.Instance].Reply(h.t.Context(), id, Reply(a.Reply), a.Message)
	var unknown *NotFoundError
	if errors.As(err, &unknown) {
		return map[string]any{"unknown": true}, nil
	}
	return map[string]any{"events": h.events(a.Instance)}, err
}

func (h *originals) list(instance int) (any, error) {
	all, err := h.opened[instance].Pending(h.t.Context())
	for i := range all {
		all[i].ID = h.shown(all[i].ID)
	}
	return all, err
}
