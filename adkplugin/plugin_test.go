package adkplugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genai"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/plugin"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/agenttool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/adk/tool/toolconfirmation"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/adkplugin"
	"github.com/obstat/obstat/dialect/adkfluent"
)

// A script is a model that says what it is told to, and keeps what it heard.
type script struct {
	mu    sync.Mutex
	turns []*genai.Content
	heard []map[string]any // results of tools, in order
}

func (s *script) Name() string { return "script" }

func (s *script) GenerateContent(_ context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(req.Contents); n > 0 {
		for _, p := range req.Contents[n-1].Parts {
			if p.FunctionResponse != nil {
				s.heard = append(s.heard, p.FunctionResponse.Response)
			}
		}
	}
	turn := genai.NewContentFromText("done", genai.RoleModel)
	if len(s.turns) > 0 {
		turn, s.turns = s.turns[0], s.turns[1:]
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: turn, TurnComplete: true}, nil)
	}
}

// calls is a turn of the model that calls tools.
func calls(parts ...any) *genai.Content {
	c := &genai.Content{Role: genai.RoleModel}
	for i := 0; i < len(parts); i += 2 {
		name := parts[i].(string)
		c.Parts = append(c.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: fmt.Sprintf("call-%d-%s", i, name), Name: name, Args: parts[i+1].(map[string]any)}})
	}
	return c
}

type args map[string]any

// A bench is the tools of a test and what they were run with.
type bench struct {
	mu  sync.Mutex
	ran []string
}

func (b *bench) note(name string, a args) {
	text, _ := json.Marshal(a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ran = append(b.ran, name+" "+string(text))
}

func (b *bench) tool(t *testing.T, name string) tool.Tool {
	t.Helper()
	out, err := functiontool.New(functiontool.Config{Name: name, Description: name}, func(_ tool.Context, a args) (map[string]any, error) {
		b.note(name, a)
		return map[string]any{"ok": true}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newAgent(t *testing.T, name string, m model.LLM, tools []tool.Tool, subs ...agent.Agent) agent.Agent {
	t.Helper()
	a, err := llmagent.New(llmagent.Config{Name: name, Model: m, Description: name, Tools: tools, SubAgents: subs})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// An app is a runner with one session.
type app struct {
	t *testing.T
	r *runner.Runner
}

func newApp(t *testing.T, root agent.Agent, plugins ...*plugin.Plugin) *app {
	t.Helper()
	r, err := runner.New(runner.Config{AppName: "app", Agent: root, SessionService: session.InMemoryService(), AutoCreateSession: true,
		PluginConfig: runner.PluginConfig{Plugins: plugins}})
	if err != nil {
		t.Fatal(err)
	}
	return &app{t, r}
}

// send runs one turn of the user and returns the confirmations that it led to.
func (a *app) send(c *genai.Content) (asked []*genai.FunctionCall) {
	a.t.Helper()
	for event, err := range a.r.Run(a.t.Context(), "user-1", "session-1", c, agent.RunConfig{}) {
		if err != nil {
			a.t.Fatal(err)
		}
		if event.Content == nil {
			continue
		}
		for _, p := range event.Content.Parts {
			if p.FunctionCall != nil && p.FunctionCall.Name == toolconfirmation.FunctionCallName {
				asked = append(asked, p.FunctionCall)
			}
		}
	}
	return asked
}

func (a *app) say(text string) []*genai.FunctionCall {
	a.t.Helper()
	return a.send(genai.NewContentFromText(text, genai.RoleUser))
}

// answer confirms or rejects.
func (a *app) answer(confirmed bool, asked ...*genai.FunctionCall) []*genai.FunctionCall {
	a.t.Helper()
	c := &genai.Content{Role: genai.RoleUser}
	for _, fc := range asked {
		c.Parts = append(c.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: fc.ID, Name: fc.Name, Response: map[string]any{"confirmed": confirmed}}})
	}
	return a.send(c)
}

func guard(t *testing.T, p *adkfluent.Policy) adkplugin.Guard {
	t.Helper()
	pol, err := p.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return adkplugin.Policy(pol, nil)
}

func newPlugin(t *testing.T, g adkplugin.Guard) *plugin.Plugin {
	t.Helper()
	p, err := adkplugin.New(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func errorOf(result map[string]any) string {
	text, _ := result["error"].(string)
	return text
}

// A real runner, several calls at once: what is allowed runs, what is denied
// gets the reason for a result.
func TestAllowAndDeny(t *testing.T) {
	b, m := &bench{}, &script{turns: []*genai.Content{calls("read_file", map[string]any{"path": "a"}, "rm_all", map[string]any{"x": 1.0})}}
	root := newAgent(t, "root", m, []tool.Tool{b.tool(t, "read_file"), b.tool(t, "rm_all")})
	newApp(t, root, newPlugin(t, guard(t, adkfluent.DontAsk("read_file")))).say("go")
	if !slices.Equal(b.ran, []string{`read_file {"path":"a"}`}) {
		t.Errorf("ran %q", b.ran)
	}
	if len(m.heard) != 2 || m.heard[0]["ok"] != true || !strings.Contains(errorOf(m.heard[1]), "Tool 'rm_all' was denied: ") {
		t.Errorf("heard %v", m.heard)
	}
}

// The tool sees the arguments as the policy rewrote them.
func TestRewriting(t *testing.T) {
	b, m := &bench{}, &script{turns: []*genai.Content{calls("read_file", map[string]any{"path": "../etc/passwd", "limit": 5.0})}}
	policy := adkfluent.AutoAllow("read_file").Refine(func(_ string, a map[string]any, base adkfluent.Decision) adkfluent.Decision {
		a["path"] = "safe/" + strings.ReplaceAll(a["path"].(string), "..", "")
		return adkfluent.NewAllow(a)
	})
	root := newAgent(t, "root", m, []tool.Tool{b.tool(t, "read_file")})
	newApp(t, root, newPlugin(t, guard(t, policy))).say("go")
	if !slices.Equal(b.ran, []string{`read_file {"limit":5,"path":"safe//etc/passwd"}`}) {
		t.Errorf("ran %q, heard %v", b.ran, m.heard)
	}
}

// One plugin covers the agents that the root hands over to.
func TestSubAgents(t *testing.T) {
	b := &bench{}
	inner := &script{turns: []*genai.Content{calls("delete_file", map[string]any{"path": "x"})}}
	outer := &script{turns: []*genai.Content{calls("transfer_to_agent", map[string]any{"agent_name": "helper"})}}
	helper := newAgent(t, "helper", inner, []tool.Tool{b.tool(t, "delete_file")})
	root := newAgent(t, "root", outer, nil, helper)
	seen := &recorder{Guard: guard(t, adkfluent.DontAsk("transfer_to_agent"))}
	newApp(t, root, newPlugin(t, seen)).say("go")
	if len(b.ran) != 0 || len(inner.heard) != 1 || !strings.Contains(errorOf(inner.heard[0]), "denied") {
		t.Errorf("ran %q, heard %v", b.ran, inner.heard)
	}
	if len(seen.calls) != 2 || seen.calls[1].Agent != "helper" || seen.calls[1].User != "user-1" || seen.calls[1].Session != "session-1" || seen.calls[1].Channel != "app" {
		t.Errorf("the guard saw %+v", seen.calls)
	}
}

// A recorder keeps the calls that a guard is asked about.
type recorder struct {
	adkplugin.Guard
	mu    sync.Mutex
	calls []obstat.Call
}

func (r *recorder) Authorize(ctx context.Context, c *obstat.Call) (obstat.Decision, error) {
	r.mu.Lock()
	r.calls = append(r.calls, *c)
	r.mu.Unlock()
	return r.Guard.Authorize(ctx, c)
}

// ADK's own confirmation: the tool waits for it, runs after a yes, with the very
// arguments that were shown, and not after a no.
func TestConfirmation(t *testing.T) {
	for _, confirmed := range []bool{true, false} {
		b, m := &bench{}, &script{turns: []*genai.Content{calls("bash", map[string]any{"cmd": "ls"})}}
		a := newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), newPlugin(t, guard(t, adkfluent.AskBefore("bash"))))
		asked := a.say("go")
		if len(asked) != 1 || len(b.ran) != 0 {
			t.Fatalf("asked %v, ran %q", asked, b.ran)
		}
		shown, _ := json.Marshal(asked[0].Args)
		if !strings.Contains(string(shown), "Allow tool 'bash'?") || !strings.Contains(string(shown), `\"cmd\":\"ls\"`) {
			t.Errorf("shown %s", shown)
		}
		a.answer(confirmed, asked...)
		if confirmed && !slices.Equal(b.ran, []string{`bash {"cmd":"ls"}`}) {
			t.Errorf("approved: ran %q, heard %v", b.ran, m.heard)
		}
		if !confirmed && (len(b.ran) != 0 || len(m.heard) != 1 || !strings.Contains(errorOf(m.heard[0]), "denied by the user")) {
			t.Errorf("rejected: ran %q, heard %v", b.ran, m.heard)
		}
	}
}

// Two calls are two confirmations; each answer is for its own call.
func TestConfirmationsAreOnePerCall(t *testing.T) {
	b, m := &bench{}, &script{turns: []*genai.Content{calls("bash", map[string]any{"cmd": "ls"}, "bash", map[string]any{"cmd": "rm"})}}
	a := newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), newPlugin(t, guard(t, adkfluent.AskBefore("bash"))))
	asked := a.say("go")
	if len(asked) != 2 {
		t.Fatalf("asked %d times", len(asked))
	}
	for _, fc := range asked {
		if text, _ := json.Marshal(fc.Args); strings.Contains(string(text), `\"cmd\":\"ls\"`) {
			a.answer(true, fc)
		}
	}
	if !slices.Equal(b.ran, []string{`bash {"cmd":"ls"}`}) {
		t.Errorf("ran %q", b.ran)
	}
}

// A denial stands, also if somebody confirms in between: the policy is asked
// again when the answer comes.
func TestConfirmationDoesNotOutliveThePolicy(t *testing.T) {
	b, m := &bench{}, &script{turns: []*genai.Content{calls("bash", map[string]any{"cmd": "ls"})}}
	g := &switching{Guard: guard(t, adkfluent.AskBefore("bash"))}
	a := newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), newPlugin(t, g))
	asked := a.say("go")
	g.Guard = guard(t, adkfluent.Deny("bash"))
	a.answer(true, asked...)
	if len(b.ran) != 0 {
		t.Errorf("ran %q", b.ran)
	}
}

type switching struct{ adkplugin.Guard }

// What a confirmation was given for is what runs: a call whose arguments are
// other ones by then does not.
func TestConfirmationIsBoundToTheArguments(t *testing.T) {
	b := &bench{}
	turn := calls("bash", map[string]any{"cmd": "ls"})
	m := &script{turns: []*genai.Content{turn}}
	a := newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), newPlugin(t, guard(t, adkfluent.AskBefore("bash"))))
	asked := a.say("go")
	original, err := toolconfirmation.OriginalCallFrom(asked[0])
	if err != nil {
		t.Fatal(err)
	}
	original.Args["cmd"] = "rm -rf /"
	a.answer(true, asked...)
	if len(b.ran) != 0 || !strings.Contains(fmt.Sprint(m.heard), "not about this call") {
		t.Errorf("ran %q, heard %v", b.ran, m.heard)
	}
}

type guardFunc func(context.Context, *obstat.Call) (obstat.Decision, error)

func (f guardFunc) Authorize(ctx context.Context, c *obstat.Call) (obstat.Decision, error) {
	return f(ctx, c)
}

// Whatever is wrong with the guard, the tool does not run.
func TestBrokenGuards(t *testing.T) {
	for name, g := range map[string]adkplugin.Guard{
		"errs": guardFunc(func(context.Context, *obstat.Call) (obstat.Decision, error) {
			return obstat.Decision{Verdict: obstat.Allow}, errors.New("no database")
		}),
		"panics":  guardFunc(func(context.Context, *obstat.Call) (obstat.Decision, error) { panic("no") }),
		"is zero": guardFunc(func(context.Context, *obstat.Call) (obstat.Decision, error) { return obstat.Decision{}, nil }),
		"rewrites to nothing": guardFunc(func(context.Context, *obstat.Call) (obstat.Decision, error) {
			return obstat.Decision{Verdict: obstat.Allow, Input: json.RawMessage(`[1]`)}, nil
		}),
		"has no policy": adkplugin.Policy(nil, nil),
	} {
		b, m := &bench{}, &script{turns: []*genai.Content{calls("bash", map[string]any{"cmd": "ls"})}}
		newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), newPlugin(t, g)).say("go")
		if len(b.ran) != 0 || len(m.heard) != 1 || errorOf(m.heard[0]) == "" {
			t.Errorf("a guard that %s: ran %q, heard %v", name, b.ran, m.heard)
		}
	}
	if _, err := adkplugin.New(nil); err == nil {
		t.Error("New took no guard")
	}
}

// ADK's agent tool runs its agent where no plugin sees it, and is refused; ours
// is guarded inside.
func TestAgentTools(t *testing.T) {
	g := guard(t, adkfluent.DontAsk("helper", "read_file"))
	for _, ours := range []bool{false, true} {
		b := &bench{}
		inner := &script{turns: []*genai.Content{calls("delete_file", map[string]any{"path": "x"}, "read_file", map[string]any{"path": "y"}), genai.NewContentFromText("read it", genai.RoleModel)}}
		helper := newAgent(t, "helper", inner, []tool.Tool{b.tool(t, "delete_file"), b.tool(t, "read_file")})
		wrapped := agenttool.New(helper, nil)
		if ours {
			var err error
			if wrapped, err = adkplugin.NewAgentTool(g, helper); err != nil {
				t.Fatal(err)
			}
		}
		outer := &script{turns: []*genai.Content{calls("helper", map[string]any{"request": "tidy up"})}}
		newApp(t, newAgent(t, "root", outer, []tool.Tool{wrapped}), newPlugin(t, g)).say("go")
		if !ours {
			if len(b.ran) != 0 || !strings.Contains(errorOf(outer.heard[0]), "adkplugin.NewAgentTool") {
				t.Errorf("ADK's: ran %q, heard %v", b.ran, outer.heard)
			}
			continue
		}
		if !slices.Equal(b.ran, []string{`read_file {"path":"y"}`}) || len(outer.heard) != 1 || outer.heard[0]["result"] != "read it" {
			t.Errorf("ours: ran %q, heard %v, inside %v", b.ran, outer.heard, inner.heard)
		}
	}
}

// Inside an agent tool nobody can be asked: an ask denies.
func TestAgentToolCannotAsk(t *testing.T) {
	g := guard(t, adkfluent.AskBefore("bash").Merge(adkfluent.AutoAllow("helper")))
	b := &bench{}
	inner := &script{turns: []*genai.Content{calls("bash", map[string]any{"cmd": "ls"})}}
	wrapped, err := adkplugin.NewAgentTool(g, newAgent(t, "helper", inner, []tool.Tool{b.tool(t, "bash")}))
	if err != nil {
		t.Fatal(err)
	}
	outer := &script{turns: []*genai.Content{calls("helper", map[string]any{"request": "x"})}}
	asked := newApp(t, newAgent(t, "root", outer, []tool.Tool{wrapped}), newPlugin(t, g)).say("go")
	if len(asked) != 0 || len(b.ran) != 0 || !strings.Contains(fmt.Sprint(inner.heard), "nobody can be asked here") {
		t.Errorf("asked %v, ran %q, heard %v", asked, b.ran, inner.heard)
	}
}

// ADK runs streaming tools without asking plugins; the plugin steps in.
func TestStreamingTools(t *testing.T) {
	for _, tc := range []struct {
		policy *adkfluent.Policy
		runs   bool
	}{
		{adkfluent.DontAsk("watch"), true}, {adkfluent.DontAsk(), false}, {adkfluent.AskBefore("watch"), false},
	} {
		b := &bench{}
		watch, err := functiontool.NewStreaming(functiontool.Config{Name: "watch", Description: "watch"}, func(_ tool.Context, a args) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				b.note("watch", a)
				yield("tick", nil)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range []tool.Tool{watch, adkplugin.Wrap(guard(t, tc.policy), watch)} {
			b.ran = nil
			m := &script{turns: []*genai.Content{calls("watch", map[string]any{"file": "x"})}}
			newApp(t, newAgent(t, "root", m, []tool.Tool{tl}), newPlugin(t, guard(t, tc.policy))).say("go")
			if (len(b.ran) == 1) != tc.runs || len(m.heard) != 1 || (m.heard[0]["result"] == "tick") != tc.runs {
				t.Errorf("%s: ran %q, heard %v", tc.policy.Mode(), b.ran, m.heard)
			}
		}
	}
	plain := (&bench{}).tool(t, "x")
	if adkplugin.Wrap(guard(t, adkfluent.Bypass()), plain) != plain {
		t.Error("a tool that does not stream was wrapped")
	}
}

// Who the user is comes from the host.
func TestRoles(t *testing.T) {
	seen := &recorder{Guard: guard(t, adkfluent.Bypass())}
	p, err := adkplugin.Options{Name: "guard", Dir: "/ws", Roots: []string{"/ws"}, Roles: func(ctx tool.Context) []string { return []string{"role-of-" + ctx.UserID()} }}.New(seen)
	if err != nil {
		t.Fatal(err)
	}
	b, m := &bench{}, &script{turns: []*genai.Content{calls("bash", map[string]any{"cmd": "ls"})}}
	newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), p).say("go")
	if len(seen.calls) != 1 || !slices.Equal(seen.calls[0].Roles, []string{"role-of-user-1"}) || seen.calls[0].Dir != "/ws" || p.Name() != "guard" {
		t.Errorf("%+v", seen.calls)
	}
}
