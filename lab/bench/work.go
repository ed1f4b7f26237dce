package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// kind is what a rule looks at.
type kind int

const (
	wholeTool kind = iota
	prefix         // the command starts with text
	glob           // the path matches text, ** crossing directories
	regex          // the command or path matches text somewhere
)

// A rule of the workload, in every engine's terms.
type rule struct {
	tool    string
	field   string // command, path or name
	kind    kind
	text    string
	likes   []string // Cedar like patterns that mean the same
	verdict string   // deny, ask, allow
}

type call struct {
	tool, field, text string
	input             json.RawMessage
}

// A workload is a set of rules and the calls put to them.
type workload struct {
	rules []rule
	calls []call
}

const tools = 50

// toolName and fieldOf: ten tools take commands, twenty paths, twenty a name.
func toolName(i int) string { return fmt.Sprintf("tool_%02d", i) }

func fieldOf(i int) string {
	switch {
	case i < 10:
		return "command"
	case i < 30:
		return "path"
	}
	return "name"
}

var (
	programs = strings.Fields("git npm go cargo make docker kubectl terraform pip python node rm cp mv curl ssh aws gh helm yarn")
	verbs    = strings.Fields("status push pull build test run install deploy delete apply plan list get describe exec logs start stop")
	dirs     = strings.Fields("src pkg cmd internal docs test scripts config deploy web api lib tools data")
	exts     = strings.Fields("go py ts js md yaml json sh")
)

func pickOf(r *rand.Rand, s []string) string { return s[r.IntN(len(s))] }

// newWorkload draws n rules (10 % whole tool, 35 % command prefix, 35 % path
// glob, 20 % regular expression) and calls, half of them made to fit a rule.
func newWorkload(n, calls int) *workload {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	w := &workload{}
	for i := range n {
		w.rules = append(w.rules, newRule(r, i))
	}
	for range calls {
		w.calls = append(w.calls, w.newCall(r))
	}
	return w
}

func newRule(r *rand.Rand, i int) rule {
	verdict := []string{"deny", "ask", "allow", "allow"}[r.IntN(4)]
	switch p := r.IntN(100); {
	case p < 10:
		// Whole-tool rules are about tools that nobody calls but one in five,
		// or they would settle everything at large n.
		t := r.IntN(tools * 4)
		if t < tools && i > 20 {
			t += tools
		}
		return rule{tool: toolName(t), kind: wholeTool, verdict: verdict}
	case p < 45:
		text := fmt.Sprintf("%s %s mod%d", pickOf(r, programs), pickOf(r, verbs), i)
		return rule{tool: toolName(r.IntN(10)), field: "command", kind: prefix, text: text, likes: []string{text + "*"}, verdict: verdict}
	case p < 80:
		dir := fmt.Sprintf("%s/mod%d", pickOf(r, dirs), i)
		text, like := dir+"/**", dir+"/*"
		if r.IntN(3) == 0 {
			ext := pickOf(r, exts)
			text, like = dir+"/**/*."+ext, dir+"/*."+ext
		}
		return rule{tool: toolName(10 + r.IntN(20)), field: "path", kind: glob, text: text, likes: []string{like}, verdict: verdict}
	}
	if r.IntN(2) == 0 {
		a, b := pickOf(r, programs), pickOf(r, verbs)
		text := fmt.Sprintf(`^%s (%s|force) .*mod%d\.(go|py)$`, a, b, i)
		var likes []string
		for _, v := range []string{b, "force"} {
			for _, e := range []string{"go", "py"} {
				likes = append(likes, fmt.Sprintf("%s %s *mod%d.%s", a, v, i, e))
			}
		}
		return rule{tool: toolName(r.IntN(10)), field: "command", kind: regex, text: text, likes: likes, verdict: verdict}
	}
	text := fmt.Sprintf(`^(src|pkg)/mod%d/.*_(test|gen)\.go$`, i)
	var likes []string
	for _, d := range []string{"src", "pkg"} {
		for _, k := range []string{"test", "gen"} {
			likes = append(likes, fmt.Sprintf("%s/mod%d/*_%s.go", d, i, k))
		}
	}
	return rule{tool: toolName(10 + r.IntN(20)), field: "path", kind: regex, text: text, likes: likes, verdict: verdict}
}

func (w *workload) newCall(r *rand.Rand) call {
	var c call
	if i := r.IntN(len(w.rules)); r.IntN(2) == 0 && w.rules[i].kind != wholeTool {
		c = call{tool: w.rules[i].tool, field: w.rules[i].field, text: w.rules[i].sample(r)}
	} else {
		t := r.IntN(tools)
		c = call{tool: toolName(t), field: fieldOf(t)}
		switch c.field {
		case "command":
			c.text = fmt.Sprintf("%s %s mod%d --flag value-%d file.go", pickOf(r, programs), pickOf(r, verbs), r.IntN(1<<20), r.IntN(1000))
		case "path":
			c.text = fmt.Sprintf("%s/mod%d/sub/dir%d/file%d.%s", pickOf(r, dirs), r.IntN(1<<20), r.IntN(10), r.IntN(1000), pickOf(r, exts))
		default:
			c.text = fmt.Sprintf("item-%d", r.IntN(1000))
		}
	}
	c.input, _ = json.Marshal(map[string]any{c.field: c.text, "timeout": 30})
	return c
}

// sample returns a text that the rule matches.
func (u *rule) sample(r *rand.Rand) string {
	like := u.likes[r.IntN(len(u.likes))]
	fill := []string{" --all x", "sub/dir/file", " -v --flag value "}[min(int(u.kind)-1, 2)]
	if u.kind == glob && strings.HasSuffix(like, "/*") {
		fill = "sub/dir/file.go"
	}
	return strings.Replace(like, "*", fill, 1)
}
