package faces

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/dialect/agentscope"
	"github.com/obstat/obstat/gate"
	hostadk "github.com/obstat/obstat/host/adkfluent"
	hostscope "github.com/obstat/obstat/host/agentscope"
	hostchorus "github.com/obstat/obstat/host/chorus"
	hostopencode "github.com/obstat/obstat/host/opencode"
	"github.com/obstat/obstat/internal/face/cli"
	"github.com/obstat/obstat/internal/face/hook"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
	"github.com/obstat/obstat/policy"
)

// faces are all ways in. A host is a face for the policies of its own dialect.
var faces = []face{
	{name: "library", open: library, bare: true},
	{name: "check", open: check},
	{name: "hook", open: runHook},
	{name: "gate", open: openGate},
	{name: "server", open: askServer},
	{name: "host/agentscope", dialect: "agentscope", open: scopeSession},
	{name: "host/opencode", dialect: "opencode", open: opencodeInstance},
	{name: "host/chorus", dialect: "chorus", open: chorusHost},
	{name: "host/adkfluent", dialect: "adkfluent", open: adkPlugin},
	{name: "mcp", takes: serverTool, open: gateway},
}

// A face is a way in: open returns how a call is put to it, under a setting.
type face struct {
	name    string
	dialect string // the only one it serves; "" serves all
	bare    bool   // it has no self-protection: that is the gate's
	// takes tells which calls can be put to it; nil: all.
	takes func(*obstat.Call) bool
	open  func(t *testing.T, s *setting) (put func(*obstat.Call) said, close func())
}

// said is an answer as every face has it. A rule is named in the reason; faces
// that have it by itself say it as well.
type said struct {
	verdict, rule, reason string
}

func (s said) String() string { return fmt.Sprintf("%s, by %q: %s", s.verdict, s.rule, s.reason) }

func saidBy(d *obstat.Decision) said {
	out := said{verdict: d.Verdict.String(), reason: d.Reason()}
	if d.Rule != nil {
		out.rule = d.Rule.String()
	}
	return out
}

// A setting is a policy in files, as they are named to a face.
type setting struct {
	dialect string
	files   []string // [LAYER=]FILE
	options map[string]string
	home    string
}

func (s *setting) source() *gate.Files {
	return &gate.Files{Names: s.files, Dialect: s.dialect, Options: s.options, Home: s.home}
}

// flags returns the setting as options of a command.
func (s *setting) flags() []string {
	out := []string{"--dialect", s.dialect}
	for _, f := range s.files {
		out = append(out, "--policy", f)
	}
	for k, v := range s.options {
		out = append(out, "--option", k+"="+v)
	}
	return out
}

func library(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	f, err := new(policy.Finder).Find(&policy.Where{Home: s.home, Named: &policy.Named{Files: s.files, Dialect: s.dialect, Options: s.options}})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *obstat.Call) said {
		a := f.Decide(c, obstat.OS{})
		if a.Rule == nil && a.Part == "" {
			a.About = c.Text() // for the reason; the engine leaves that to who shows it
		}
		return saidBy(&a.Decision)
	}, func() {}
}

// check runs `obstat check --json` with calls on standard input.
func check(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	var words bytes.Buffer
	go func() {
		cli.Main(append([]string{"check", "--json"}, s.flags()...), &cli.IO{In: in, Out: out, Err: &words})
		out.Close()
	}()
	lines := bufio.NewReaderSize(answers, 1<<20)
	return func(c *obstat.Call) said {
		t.Helper()
		line, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := calls.Write(append(line, '\n')); err != nil {
			t.Fatal(err, words.String())
		}
		var got struct {
			Verdict, Reason string
			Rule            struct{ Text string }
		}
		answer, err := lines.ReadBytes('\n')
		if err != nil || json.Unmarshal(answer, &got) != nil {
			t.Fatalf("%s: %s, %v, %s", line, answer, err, words.String())
		}
		return said{got.Verdict, got.Rule.Text, got.Reason}
	}, func() { calls.Close() }
}

// runHook runs `obstat hook claude-code` with somebody at the agent.
func runHook(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	return func(c *obstat.Call) said {
		t.Helper()
		payload := payloadOf(t, c)
		var out, words bytes.Buffer
		o := hook.System(&hook.Options{Agent: "claude-code", NoLedger: true, Policy: policy.Named{Files: s.files, Dialect: s.dialect, Options: s.options}})
		o.In, o.Out, o.Err, o.Exe = bytes.NewReader(payload), &out, &words, ""
		o.Getwd = func() (string, error) { return c.Dir, nil }
		hook.Run(o)
		var got struct {
			Hook struct{ PermissionDecision, PermissionDecisionReason string } `json:"hookSpecificOutput"`
		}
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %s %s", payload, &out, &words)
		}
		return said{verdict: got.Hook.PermissionDecision, reason: got.Hook.PermissionDecisionReason}
	}, func() {}
}

// payloadOf returns a call as Claude Code tells it to a hook.
func payloadOf(t *testing.T, c *obstat.Call) []byte {
	t.Helper()
	out, err := json.Marshal(map[string]any{"session_id": c.Session, "transcript_path": "/t", "cwd": dir, "hook_event_name": "PreToolUse", "permission_mode": "default", "tool_name": c.Tool, "tool_input": c.Input})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func openGate(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	g, err := gate.Open(t.Context(), gate.Options{Policy: s.source()})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *obstat.Call) said {
		d, err := g.Authorize(context.Background(), c, &gate.Terms{Ask: gate.Leave})
		if err != nil {
			t.Fatal(err)
		}
		return saidBy(&d.Decision)
	}, g.Close
}

// askServer puts calls to a server's /v1/decisions.
func askServer(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	store := new(memory.Store)
	srv, err := server.Open(t.Context(), server.Options{Store: store, Policy: s.source(), World: obstat.OS{}, Rate: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	token, err := server.NewToken(t.Context(), store, client.TokenRequest{Kind: "agent", Name: "faces"}, "test")
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	to, err := client.New(client.Options{URL: web.URL, Token: token.Secret})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *obstat.Call) said {
		t.Helper()
		d, err := to.Decide(context.Background(), c, 0)
		if err != nil {
			t.Fatalf("%s %s: %v", c.Tool, c.Input, err)
		}
		out := said{verdict: d.Verdict, reason: d.Reason}
		if d.Rule != nil {
			out.rule = d.Rule.Text
		}
		return out
	}, func() { web.Close(); srv.Close() }
}

// written opens a host on a gate whose ledger tells the answer: the ask that was
// put, or the decision.
func written(t *testing.T, put func(g gate.Options) (func(*obstat.Call), func())) (func(*obstat.Call) said, func()) {
	t.Helper()
	store := new(memory.Store)
	call, end := put(gate.Options{Store: store, NoStart: true})
	last := func() (out *ledger.Record) {
		for r, err := range store.Records(context.Background(), ledger.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind == ledger.Ask || r.Kind == ledger.Decision && (out == nil || out.Request == "" || out.Request != r.Request) {
				out = r
			}
		}
		return out
	}
	return func(c *obstat.Call) said {
		call(c)
		r := last()
		return said{r.Verdict, r.Rule, r.Reason}
	}, end
}

func scopeSession(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	return written(t, func(g gate.Options) (func(*obstat.Call), func()) {
		files, err := dialect.ReadFiles(s.files, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		h, err := hostscope.Open(t.Context(), new(agentscope.Dialect), &dialect.Input{Files: files, Options: s.options, Home: s.home}, &hostscope.Options{Gate: g})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *obstat.Call) { h.Check(context.Background(), "1", c) }, h.Close
	})
}

func opencodeInstance(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	return written(t, func(g gate.Options) (func(*obstat.Call), func()) {
		g.Policy = s.source()
		h, err := hostopencode.Open(t.Context(), hostopencode.Options{Gate: g, Directory: dir})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *obstat.Call) {
			_, _ = h.Put(context.Background(), hostopencode.Request{Call: c, SessionID: c.Session})
		}, func() { _ = h.Close(context.Background()) }
	})
}

func chorusHost(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	return written(t, func(g gate.Options) (func(*obstat.Call), func()) {
		g.Policy = s.source()
		h, err := hostchorus.Open(t.Context(), hostchorus.Options{Gate: g})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *obstat.Call) { h.Check(context.Background(), c) }, h.Close
	})
}

func adkPlugin(t *testing.T, s *setting) (func(*obstat.Call) said, func()) {
	return written(t, func(g gate.Options) (func(*obstat.Call), func()) {
		data, err := os.ReadFile(s.files[0])
		if err != nil {
			t.Fatal(err)
		}
		p, err := adkfluent.Parse(s.files[0], data)
		if err != nil {
			t.Fatal(err)
		}
		h, err := hostadk.Open(t.Context(), p, &hostadk.Options{Gate: g})
		if err != nil {
			t.Fatal(err)
		}
		return func(c *obstat.Call) {
			var args map[string]any
			_ = json.Unmarshal(c.Input, &args) // what is no object, no plugin gets
			h.BeforeCall(context.Background(), c, args)
		}, h.Close
	})
}

// TestFaces puts the captured calls of five agents and 2,000 cases to every face.
func TestFaces(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	work := gathered(t, home)
	mask := ledger.NewMasker(nil)
	asked := map[string]int{}
	selves := 0
	for _, w := range work {
		judge, err := gate.Open(t.Context(), gate.Options{Policy: w.source(), NoStart: true})
		if err != nil {
			t.Fatal(err)
		}
		var open []func(*obstat.Call) said
		var serve []face
		for _, f := range faces {
			if f.dialect == "" || f.dialect == w.dialect {
				put, end := f.open(t, &w.setting)
				defer end()
				open, serve = append(open, put), append(serve, f)
			}
		}
		for _, c := range w.calls {
			a, _ := judge.Authorize(t.Context(), c, &gate.Terms{Ask: gate.Try})
			self := a.Self
			want := saidBy(&a.Decision)
			if self {
				selves++
			}
			for i, f := range serve {
				if f.bare && self || f.takes != nil && !f.takes(c) {
					continue
				}
				asked[f.name]++
				got := open[i](c)
				if got.reason == "" && f.takes != nil {
					got.reason = want.reason // a gateway gives one with denials only
				}
				if got.rule == "" {
					got.rule = want.rule // it is in the reason
				}
				if got != want && got != (said{want.verdict, mask.Text(want.rule), mask.Text(want.reason)}) {
					t.Errorf("%s, %s %s under %v:\n  %s\n  the gate judges\n  %s", f.name, c.Tool, c.Input, w.files, got, want)
				}
			}
		}
	}
	for _, f := range faces {
		if asked[f.name] < 100 || f.dialect == "" && f.takes == nil && asked[f.name] < 2000 {
			t.Errorf("%s was asked %d times", f.name, asked[f.name])
		}
	}
	t.Logf("%v, of which %d would change what guards the agent", asked, selves)
}
