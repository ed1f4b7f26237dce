package play_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/face/play"
)

// An example is one of the page's texts to click.
type example struct {
	Title, Dialect, Want string
	Policy, Now          []string
	Call                 json.RawMessage
}

// examples reads those of the page, and the names of the tools that run commands.
func examples(t *testing.T) (list []example, tools map[string]string) {
	t.Helper()
	src, err := os.ReadFile("static/examples.js")
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]any{"DIALECTS": &tools, "EXAMPLES": &list} {
		text := regexp.MustCompile(`(?s)const ` + name + ` = (.*?);\n`).FindSubmatch(src)
		if err := json.Unmarshal(text[1], to); err != nil {
			t.Fatal(err)
		}
	}
	return list, tools
}

// question is the one that the page puts about an example.
func (x *example) question(t *testing.T, tools map[string]string) []byte {
	t.Helper()
	side := func(lines []string) any {
		return map[string]any{"dialect": x.Dialect, "files": []any{map[string]string{"text": strings.Join(lines, "\n")}}}
	}
	q := map[string]any{"policy": side(x.Policy)}
	if x.Now != nil {
		q["now"] = side(x.Now)
	} else {
		call := map[string]any{}
		if json.Unmarshal(x.Call, &call) != nil {
			call["tool"], call["input"] = "", map[string]any{"command": json.RawMessage(x.Call)}
		}
		call["dir"], call["roots"] = "/home/user/project", []string{"/home/user/project"}
		q["call"], q["tools"] = call, tools
	}
	out, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func answer(t *testing.T, src []byte) (r play.Reply, text string) {
	t.Helper()
	out := play.Answer(src)
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r, string(out)
}

// TestExamples: each is understood and answered as its dot on the page says, and every dialect that has a
// file of its own is among them.
func TestExamples(t *testing.T) {
	list, tools := examples(t)
	seen := map[string]bool{}
	for i := range list {
		x := &list[i]
		seen[x.Dialect] = true
		r, text := answer(t, x.question(t, tools))
		switch {
		case len(r.Errors) > 0 || len(r.Warnings) > 0:
			t.Errorf("%s: %s", x.Title, text)
		case x.Now != nil:
			if r.Diff.Looser == 0 || x.Want != "" {
				t.Errorf("%s: nothing is looser, or a verdict is wanted: %s", x.Title, text)
			}
		case r.View.Verdict.String() != x.Want:
			t.Errorf("%s: %s, want %q: %s", x.Title, r.View.Verdict, x.Want, r.View.Why)
		}
	}
	if len(list) != 20 {
		t.Errorf("there are %d examples", len(list))
	}
	for _, d := range all.All() {
		if d.Name() == "program" || d.Name() == "builtin" {
			continue
		}
		if tools[d.Name()] == "" {
			t.Errorf("the page does not know which tool runs commands in %s", d.Name())
		}
		if !seen[d.Name()] && d.Name() != "qwen" {
			t.Errorf("no example is written in %s", d.Name())
		}
	}
}

func TestRefusals(t *testing.T) {
	for src, want := range map[string]string{
		``: "question", `{`: "question", `[]`: "", `{"policy":{"files":[]}}`: "at least one file",
		`{"policy":{"dialect":"nope","files":[{"text":""}]}}`:                          `no dialect \"nope\"`,
		`{"policy":{"dialect":"native","files":[{"text":"version: 1\n"}]}}`:            "neither a call nor",
		`{"policy":{"dialect":"native","files":[{"text":"version: 1"}]},"call":{}}`:    "tool",
		`{"policy":{"dialect":"native","files":[{"text":"allow: 7"}]},"call":{}}`:      `"line":1`,
		`{"policy":{"dialect":"native","files":[{"text":"version: 1"}]},"x":1}`:        "x",
		`{"policy":{"dialect":"opencode","files":[{"text":"{}"}],"options":{"x":""}}}`: `no option`,
	} {
		r, text := answer(t, []byte(src))
		if len(r.Errors) == 0 || r.View != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %s, want an error with %s", src, text, want)
		}
	}
	src := `{"policy":{"dialect":"native","files":[{"text":"version: 1"}]},"now":{"dialect":"native","files":[{"text":"?"}]}}`
	if r, text := answer(t, []byte(src)); r.Side != "now" || len(r.Errors) == 0 {
		t.Errorf("the second policy is broken: %s", text)
	}
}
