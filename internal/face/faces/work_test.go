package faces

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/study/cases"
)

// dir is the working directory of every call. It is on no machine, so that links
// and directories have no say.
const dir = "/srv/faces/project"

// work is calls under one policy.
type work struct {
	setting
	calls []*obstat.Call
}

// wanted is how many cases are drawn.
const wanted = 2000

// corpora are the recorded cases that are drawn from.
var corpora = []string{"adkfluent/testdata/document", "agentscope/testdata/document", "agentscope/testdata/parser", "agentscope/testdata/shelldanger", "agentscope/testdata/shellreadonly",
	"chorus/testdata/document", "jiuwen/testdata/jiuwen-document", "jiuwen/testdata/jiuwen-parser", "opencode/testdata/opencode-document", "opencode/testdata/opencode-parser", "opencode/testdata/opencode-program"}

// gathered returns the captured calls under a policy of Claude Code's, and cases
// under their own, in the form that every face can take: a tool, its input and a
// directory.
func gathered(t *testing.T, home string) []*work {
	t.Helper()
	settings := filepath.Join(home, "settings.json")
	write(t, settings, `{"permissions":{"allow":["Bash(touch *)","Bash(ls *)","Read","mcp__canary"],"ask":["Write"],"deny":["Bash(rm *)","Edit(/etc/**)"]}}`)
	out := []*work{{setting: setting{dialect: "claudecode", files: []string{settings}, home: home}, calls: captured(t)}}
	out = append(out, served(t, home))
	same, n := map[string]*work{}, 0
	for _, name := range corpora {
		drawn := read(t, name)
		for i, took := 0, 0; i < len(drawn) && took <= wanted/len(corpora); i++ {
			c := drawn[i*7919%len(drawn)] // spread over the corpus, and always the same
			call := callOf(t, c)
			if call == nil {
				continue
			}
			w := settingOf(t, c, home, same)
			if w == nil {
				continue
			}
			if len(w.calls) == 0 {
				out = append(out, w)
			}
			w.calls, took, n = append(w.calls, call), took+1, n+1
		}
	}
	if n < wanted {
		t.Fatalf("only %d cases", n)
	}
	return out
}

// callOf returns the call of a case as every face can take it: a tool, its input
// and a directory. What no agent can tell a hook has none.
func callOf(t *testing.T, c *cases.Case) *obstat.Call {
	t.Helper()
	out := &obstat.Call{Tool: c.Call.Tool, Input: c.Call.Input, Dir: dir, Session: c.ID} // the same call twice in a session is another question
	if len(c.Call.Subjects) > 0 {                                                        // of Chorus: tool:bash:ls -l
		_, text, _ := strings.Cut(strings.TrimPrefix(c.Call.Subjects[0], "tool:"), ":")
		out.Input, _ = json.Marshal(map[string]string{"command": text})
	}
	if c.Want.Error || len(c.Config.Tools) > 0 || !json.Valid(out.Input) {
		return nil
	}
	if _, err := agent.Decode(agent.ClaudeCode, payloadOf(t, out), func(string) string { return "" }); err != nil {
		return nil
	}
	return out
}

// captured returns the calls that real agents made in front of a hook.
func captured(t *testing.T) (out []*obstat.Call) {
	for line := range lines(t, "../../../agent/testdata/captured.jsonl.gz") {
		var c struct {
			Agent string
			Env   map[string]string
			Stdin json.RawMessage
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		e, err := agent.Decode("", c.Stdin, func(k string) string { return c.Env[k] })
		if err != nil || e.Call == nil {
			continue // an event that asks nothing
		}
		out = append(out, &obstat.Call{Tool: e.Call.Tool, Input: e.Call.Input, Dir: dir, Session: fmt.Sprint(len(out))})
	}
	return out
}

// settingOf writes the configuration of a case to files; nil where it is broken, or
// in more files than its host takes.
func settingOf(t *testing.T, c *cases.Case, home string, same map[string]*work) *work {
	t.Helper()
	key, err := json.Marshal([]any{c.Dialect, c.Config.Options, c.Config.Files})
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := same[string(key)]; ok {
		return w
	}
	d, err := all.Find(c.Dialect)
	if err != nil {
		t.Fatal(err)
	}
	w := &work{setting: setting{dialect: c.Dialect, options: c.Config.Options, home: home}}
	at := filepath.Join(home, fmt.Sprint("policy", len(same)))
	var files []dialect.File
	for i, f := range c.Config.Files {
		base := filepath.Base(f.Name)
		if filepath.Ext(base) == "" {
			base = filepath.Base(dialect.DefaultFile(d))
		}
		name := filepath.Join(at, fmt.Sprint(i), base)
		write(t, name, string(f.Data))
		files = append(files, dialect.File{Name: name, Layer: f.Layer, Data: f.Data})
		if f.Layer != "" {
			name = f.Layer + "=" + name
		}
		w.files = append(w.files, name)
	}
	if _, err := dialect.ReadFiles(w.files, os.ReadFile); err != nil {
		w = nil // a layer that no command line can name
	} else if _, err := dialect.Load(d, &dialect.Input{Files: files, Options: c.Config.Options, Home: home}); err != nil || len(w.files) != 1 && (c.Dialect == "adkfluent" || c.Dialect == "agentscope") {
		w = nil
	}
	same[string(key)] = w
	return w
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) (out []*cases.Case) {
	n := 0
	for line := range lines(t, "../../../dialect/"+name+".jsonl.gz") {
		n++
		c, err := cases.Parse(name, n, line)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// lines yields the lines of a compressed file.
func lines(t *testing.T, name string) func(yield func([]byte) bool) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func([]byte) bool) {
		defer f.Close()
		s := bufio.NewScanner(z)
		s.Buffer(nil, 16<<20)
		for s.Scan() {
			if !yield(append([]byte{}, s.Bytes()...)) {
				return
			}
		}
		if err := s.Err(); err != nil {
			t.Error(err)
		}
	}
}
