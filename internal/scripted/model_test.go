package scripted

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A form is how a test talks to the server in one of the wire forms.
type form struct {
	path string
	// request is a conversation: messages and results of tools.
	request func(user string, results ...string) any
	// call reads the tool call off the events, "" where there is none.
	call func(t *testing.T, events []map[string]any) (tool, args string)
	last string // the name or the data of the last event
}

func forms() map[string]form {
	return map[string]form{
		"anthropic": {"/v1/messages?beta=true", func(user string, results ...string) any {
			list := []any{object{"role": "user", "content": []any{object{"type": "text", "text": user}}}}
			for i, r := range results {
				list = append(list, object{"role": "assistant", "content": []any{object{"type": "tool_use", "id": fmt.Sprint(i), "name": "x", "input": object{"prompt": Prompt(SubMarker)}}}},
					object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": fmt.Sprint(i), "content": r}}})
			}
			return object{"stream": true, "messages": list}
		}, anthropicCall, "message_stop"},
		"responses": {"/v1/responses", func(user string, results ...string) any {
			list := []any{object{"type": "message", "role": "developer", "content": []any{object{"type": "input_text", "text": Prompt(SubMarker)}}},
				object{"type": "message", "role": "user", "content": []any{object{"type": "input_text", "text": user}}}}
			for i, r := range results {
				list = append(list, object{"type": "function_call", "call_id": fmt.Sprint(i), "name": "x", "arguments": "{}"},
					object{"type": "function_call_output", "call_id": fmt.Sprint(i), "output": r})
			}
			return object{"input": list}
		}, responsesCall, "response.completed"},
		"chat": {"/v1/chat/completions", func(user string, results ...string) any {
			list := []any{object{"role": "system", "content": Prompt(SubMarker)}, object{"role": "user", "content": user}}
			for i, r := range results {
				list = append(list, object{"role": "assistant", "content": nil}, object{"role": "tool", "tool_call_id": fmt.Sprint(i), "content": r})
			}
			return object{"stream": true, "messages": list}
		}, chatCall, "[DONE]"},
		"gemini": {"/v1beta/models/m:streamGenerateContent?alt=sse", func(user string, results ...string) any {
			list := []any{object{"role": "user", "parts": []any{object{"text": user}}}}
			for _, r := range results {
				list = append(list, object{"role": "model", "parts": []any{object{"text": Prompt(SubMarker)}}},
					object{"role": "user", "parts": []any{object{"functionResponse": object{"name": "x", "response": object{"output": r}}}}})
			}
			return object{"contents": list}
		}, geminiCall, ""},
	}
}

func str(v any, path ...any) string {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return ""
			}
			v = l[p]
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	if v == nil {
		return ""
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func anthropicCall(_ *testing.T, events []map[string]any) (tool, args string) {
	for _, e := range events {
		if str(e, "content_block", "type") == "tool_use" {
			tool = str(e, "content_block", "name")
		}
		args += str(e, "delta", "partial_json")
	}
	return tool, args
}

func responsesCall(_ *testing.T, events []map[string]any) (tool, args string) {
	for _, e := range events {
		if str(e, "type") == "response.output_item.done" {
			tool, args = str(e, "item", "namespace")+str(e, "item", "name"), str(e, "item", "arguments")+str(e, "item", "input")
		}
	}
	return tool, args
}

func chatCall(_ *testing.T, events []map[string]any) (tool, args string) {
	for _, e := range events {
		tool += str(e, "choices", 0, "delta", "tool_calls", 0, "function", "name")
		args += str(e, "choices", 0, "delta", "tool_calls", 0, "function", "arguments")
	}
	return tool, args
}

func geminiCall(t *testing.T, events []map[string]any) (tool, args string) {
	if len(events) != 1 {
		t.Errorf("%d events", len(events))
		return "", ""
	}
	f := []any{"candidates", 0, "content", "parts", 0, "functionCall"}
	return str(events[0], append(f, "name")...), str(events[0], append(f, "args")...)
}

// post sends a request and reads the events of the answer.
func post(t *testing.T, m *Model, path string, body any) (events []map[string]any, last string) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(m.URL()+path, "application/json", strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s %s", path, resp.Status, text)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			last = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			last = data
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		events = append(events, e)
	}
	return events, last
}

func startModel(t *testing.T, s Script) *Model {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// TestWireForms: in every form the calls of a list come one after the other, the
// list is that of the prompt and not of other text with a marker, and then
// there are words.
func TestWireForms(t *testing.T) {
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			m := startModel(t, Script{
				MainMarker: {{Tool: "one", Args: object{"command": "touch a"}}, {Tool: "two", Args: object{"n": 2}}},
				SubMarker:  {{Tool: "inner", Args: object{}}},
			})
			for _, want := range []struct {
				user    string
				results []string
				tool    string
				args    string
			}{
				{Prompt(MainMarker), nil, "one", `{"command":"touch a"}`},
				{Prompt(MainMarker), []string{"first"}, "two", `{"n":2}`},
				{Prompt(MainMarker), []string{"first", "second"}, "", ""},
				{Prompt(SubMarker), nil, "inner", `{}`},
				{"hello", nil, "", ""},
				{Prompt(MainMarker) + " " + Prompt(SubMarker), nil, "inner", `{}`},
			} {
				events, last := post(t, m, f.path, f.request(want.user, want.results...))
				tool, args := f.call(t, events)
				if tool != want.tool || args != want.args || last != f.last {
					t.Errorf("%q after %q: got %s %s, ending in %q; want %s %s", want.user, want.results, tool, args, last, want.tool, want.args)
				}
				if want.tool == "" && !strings.Contains(fmt.Sprint(events), LastWords) {
					t.Errorf("no words: %v", events)
				}
			}
			if got := m.Results(MainMarker); len(got) != 2 || !strings.Contains(got[0], "first") || !strings.Contains(got[1], "second") {
				t.Errorf("results %q", got)
			}
			if m.Odd() != nil {
				t.Errorf("odd: %q", m.Odd())
			}
		})
	}
}

// TestJoinedCalls: calls that do not wait for one another come in one answer.
func TestJoinedCalls(t *testing.T) {
	for name, f := range forms() {
		m := startModel(t, Script{MainMarker: {{Tool: "one", Args: object{}}, {Tool: "two", Args: object{}, Joined: true}, {Tool: "three", Args: object{}}}})
		for results, want := range map[int][]string{0: {"one", "two"}, 2: {"three"}, 3: nil} {
			events, _ := post(t, m, f.path, f.request(Prompt(MainMarker), []string{"a", "b", "c"}[:results]...))
			text, _ := json.Marshal(events)
			for _, tool := range []string{"one", "two", "three"} {
				if got := strings.Contains(string(text), `"name":"`+tool+`"`); got != slices.Contains(want, tool) {
					t.Errorf("%s after %d results: %s", name, results, text)
				}
			}
		}
	}
}

// TestResponsesOwn: namespaces, tools that take text, a subagent's prompt, and
// the identifier of the result before.
func TestResponsesOwn(t *testing.T) {
	m := startModel(t, Script{
		MainMarker: {{Tool: "touch", Namespace: "mcp__x", Args: object{}}, {Tool: "apply_patch", Text: "*** Begin"}, {Tool: "wait", Args: object{"targets": []string{LastID}}}},
		SubMarker:  {{Tool: "inner", Args: object{}}},
	})
	f := forms()["responses"]
	const id = "01a1dca1-954b-75b2-876e-fd20290d7e2a"
	for i, want := range []string{"mcp__xtouch {}", "apply_patch *** Begin", `wait {"targets":["` + id + `"]}`} {
		events, _ := post(t, m, f.path, f.request(Prompt(MainMarker), []string{"a", `{"agent_id":"` + id + `"}`}[:i]...))
		if tool, args := f.call(t, events); tool+" "+args != want {
			t.Errorf("turn %d: %s %s, want %s", i, tool, args, want)
		}
	}
	events, _ := post(t, m, f.path, object{"input": []any{object{"type": "agent_message", "content": []any{object{"type": "input_text", "text": "NEW_TASK"}, object{"type": "encrypted_content", "encrypted_content": Prompt(SubMarker)}}}}})
	if tool, _ := f.call(t, events); tool != "inner" {
		t.Errorf("a subagent's prompt is not seen: %v", events)
	}
}

func TestModelRefuses(t *testing.T) {
	m := startModel(t, Script{})
	for path, body := range map[string]string{"/v1/models": "{}", "/v1/messages": "[", "/v1/responses": `{"input":3}`} {
		resp, err := http.Post(m.URL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode < 400 {
			t.Errorf("%s %s: %s", path, body, resp.Status)
		}
	}
	if len(m.Odd()) != 3 {
		t.Errorf("odd: %q", m.Odd())
	}
}

// TestTook: the time of an agent's calls is taken from the model's turn to the next request.
func TestTook(t *testing.T) {
	m := &Model{}
	m.clock(MainMarker, false)
	m.clock(SubMarker, true)
	m.clock(MainMarker, true)
	m.clock(MainMarker, true)
	if got := m.Took(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestVerdicts: the classifier's verdict stands beside the calls, and a reviewer is answered by its verdict
// though its request quotes the script.
func TestVerdicts(t *testing.T) {
	m := startModel(t, Script{MainMarker: {{Tool: "one", Args: object{}}}})
	m.Verdict = ClassifierFlags
	f := forms()["anthropic"]
	events, _ := post(t, m, f.path, f.request(Prompt(MainMarker)))
	found := false
	for _, e := range events {
		found = found || str(e, "delta", "safeguard_results", 0, "status", "tool_uses", "toolu_call_main-script_0", "outcome") == ClassifierFlags
	}
	if !found {
		t.Errorf("no verdict: %v", events)
	}
	m.Verdict = `{"outcome":"deny"}`
	f = forms()["responses"]
	events, _ = post(t, m, f.path, f.request(Reviewing+": "+Prompt(MainMarker)))
	if tool, _ := f.call(t, events); tool != "" || !strings.Contains(str(events), `{\"outcome\":\"deny\"}`) {
		t.Errorf("%s %s", tool, str(events))
	}
	if m.Reviewed() != 1 {
		t.Error("the reviewer was not counted")
	}
}

// TestTitles: a request for a title quotes the prompt, and is answered with words.
func TestTitles(t *testing.T) {
	m := &Model{script: Script{MainMarker: {{Tool: "x"}}}, results: map[string][]string{}}
	if _, calls := m.next(&conversation{user: []string{"Generate a concise, single-line task title for: " + Prompt(MainMarker)}}); calls != nil {
		t.Error("a title is no call")
	}
	if _, calls := m.next(&conversation{user: []string{Prompt(MainMarker)}}); len(calls) != 1 {
		t.Error("no call")
	}
}
