package adkplugin_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/tool"
	"google.golang.org/genai"

	"github.com/obstat/obstat/adkplugin"
	"github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/gate"
	host "github.com/obstat/obstat/host/adkfluent"
	"github.com/obstat/obstat/internal/keep/memory"
	"github.com/obstat/obstat/ledger"
)

// twice is a model that makes the same call in two turns.
func twice(name string, args map[string]any) *script {
	return &script{turns: []*genai.Content{calls(name, args), calls(name, args)}}
}

// The document's plugin and its callback, in a real app: the handler is asked
// once, its answer is remembered, and a denied tool gets the document's text.
func TestDocumentsPluginAndCallback(t *testing.T) {
	for _, granted := range []bool{true, false} {
		var asked []string
		handler := func(_ context.Context, tool string, args map[string]any, d adkfluent.Decision) (bool, error) {
			asked = append(asked, tool+" "+d.Prompt())
			return granted, nil
		}
		p, err := adkplugin.Plugin(adkfluent.AskBefore("bash"), handler, &host.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		b, m := &bench{}, twice("bash", map[string]any{"cmd": "ls"})
		newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "bash")}), p).say("go")
		check(t, "plugin", granted, asked, b, m)

		asked = nil
		cb, err := adkplugin.Callback(adkfluent.AskBefore("bash"), handler, &host.Memory{})
		if err != nil {
			t.Fatal(err)
		}
		b, m = &bench{}, twice("bash", map[string]any{"cmd": "ls"})
		root, err := llmagent.New(llmagent.Config{Name: "root", Model: m, Tools: []tool.Tool{b.tool(t, "bash")}, BeforeToolCallbacks: []llmagent.BeforeToolCallback{cb}})
		if err != nil {
			t.Fatal(err)
		}
		newApp(t, root).say("go")
		check(t, "callback", granted, asked, b, m)
	}
	if _, err := adkplugin.Plugin(nil, nil, nil); err == nil {
		t.Error("a plugin without a policy")
	}
}

func check(t *testing.T, face string, granted bool, asked []string, b *bench, m *script) {
	t.Helper()
	if !slices.Equal(asked, []string{"bash Allow tool 'bash'?"}) {
		t.Errorf("%s: asked %q", face, asked)
	}
	if granted && len(b.ran) != 2 {
		t.Errorf("%s: ran %q", face, b.ran)
	}
	if !granted && (len(b.ran) != 0 || errorOf(m.heard[0]) != "Tool 'bash' was denied by the user." || errorOf(m.heard[1]) != "Tool 'bash' was previously denied.") {
		t.Errorf("%s: ran %q, heard %v", face, b.ran, m.heard)
	}
}

// ADK's confirmation answers the gate's request: the ledger has question, answer
// and decision.
func TestConfirmationOnAGate(t *testing.T) {
	for _, confirmed := range []bool{true, false} {
		l, err := adkfluent.AskBefore("deploy").Loaded()
		if err != nil {
			t.Fatal(err)
		}
		s := new(memory.Store)
		g, err := gate.Open(t.Context(), gate.Options{Policy: gate.Fixed{Loaded: l}, Store: s, NoStart: true})
		if err != nil {
			t.Fatal(err)
		}
		b, m := &bench{}, &script{turns: []*genai.Content{calls("deploy", map[string]any{"to": "prod"})}}
		a := newApp(t, newAgent(t, "root", m, []tool.Tool{b.tool(t, "deploy")}), newPlugin(t, adkplugin.Gate(g)))
		a.answer(confirmed, a.say("go")...)
		if (len(b.ran) == 1) != confirmed {
			t.Errorf("confirmed %v: ran %q, heard %v", confirmed, b.ran, m.heard)
		}
		var kinds []string
		for r, err := range s.Records(t.Context(), ledger.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, string(r.Kind)+" "+r.User)
		}
		if got := strings.Join(kinds, ", "); !strings.HasPrefix(got, "ask user-1, answer user-1") {
			t.Errorf("confirmed %v: the ledger has %s", confirmed, got)
		}
	}
}
