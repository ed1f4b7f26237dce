package diff_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/study/diff"
	"github.com/obstat/obstat/pattern"
)

var (
	mutations = flag.Int("mutations", 20, "how many policies to change by one rule, and how many to rewrite")
	seed      = flag.Uint64("seed", 1, "which ones")
	only      = flag.String("dialect", "", "only policies of this dialect")
)

// policies loads the files of testdata; behind a name stand options.
func policies(t testing.TB) (out []*dialect.Loaded) {
	t.Helper()
	text, err := os.ReadFile("testdata/policies.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse(text).Files {
		name, opts, _ := strings.Cut(f.Name, " ")
		in := &dialect.Input{Files: []dialect.File{{Name: name, Data: f.Data}}, Home: diff.Home, Options: map[string]string{}}
		which := ""
		for _, o := range strings.Fields(opts) {
			k, v, _ := strings.Cut(o, "=")
			if k == "dialect" {
				which = v
			} else {
				in.Options[k] = v
			}
		}
		d, err := all.Of(which, in.Files)
		if err != nil {
			t.Fatal(err)
		}
		if *only != "" && *only != d.Name() {
			continue
		}
		l, err := dialect.Load(d, in)
		if err != nil {
			t.Fatal(name, err)
		}
		out = append(out, l)
	}
	return out
}

func compile(l *dialect.Loaded, p *obstat.Program) *obstat.Policy {
	pol, err := obstat.Compile(p, &obstat.Options{Library: dialect.LibraryFor(l.Dialect, p)})
	if err != nil {
		return nil
	}
	return pol
}

// A drawer draws changes and calls.
type drawer struct{ *rand.Rand }

func pick[T any](d drawer, list []T) T { return list[d.IntN(len(list))] }

// userLists returns the lists of a Program that a user's rules stand in.
func userLists(l *dialect.Loaded, p *obstat.Program) (out []string) {
	for name, rules := range p.Rules {
		for i := range rules {
			if mine(l, &rules[i]) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// mine tells whether a rule is the user's own.
func mine(l *dialect.Loaded, r *obstat.Rule) bool {
	return r.Pos.File != "" || l.Dialect.Name() == "adkfluent"
}

// mutate changes a Program by one rule and says how.
func (d drawer) mutate(l *dialect.Loaded) (*obstat.Program, string) {
	p := l.Policy.Program()
	lists := userLists(l, p)
	name := pick(d, lists)
	rules := slices.Clone(p.Rules[name])
	var own []int
	for i := range rules {
		if mine(l, &rules[i]) {
			own = append(own, i)
		}
	}
	i := pick(d, own)
	r := rules[i]
	how := ""
	kinds := 6
	if len(r.If) > 0 {
		kinds = 12 // conditions are as likely as all else
	}
	switch d.IntN(kinds) {
	default:
		r.If = d.otherConds(r.If)
		how, rules[i] = fmt.Sprintf("if %v", r.If), r
	case 0:
		how, rules = "remove", slices.Delete(rules, i, i+1)
	case 1:
		other := pick(d, lists)
		r.Verdict = obstat.Verdict(d.IntN(3))
		if to := p.Rules[other]; other != name && len(to) > 0 {
			r.Verdict = to[0].Verdict
			p.Rules[other] = append(slices.Clone(to), r)
			how, rules = "move to "+other, slices.Delete(rules, i, i+1)
			break
		}
		how, rules[i] = "verdict "+r.Verdict.String(), r
	case 2:
		r.Pattern, r.Tool = d.otherText(r.Pattern), d.toolIfWhole(&r)
		r.Source, r.Pos = "", obstat.Pos{}
		how, rules = "add "+r.String(), slices.Insert(rules, d.IntN(len(rules)+1), r)
	case 3:
		r.Pattern, r.Tool, r.Source = d.otherText(r.Pattern), d.toolIfWhole(&r), ""
		how, rules[i] = "text "+r.String(), r
	case 4:
		r.Pattern, r.Source = d.wider(r.Pattern), ""
		how, rules[i] = "widen "+r.String(), r
	case 5:
		j := pick(d, own)
		rules[i], rules[j] = rules[j], rules[i]
		how = fmt.Sprintf("swap %d and %d", i, j)
	}
	changed := len(rules) != len(p.Rules[name])
	for k := 0; k < len(rules) && !changed; k++ {
		a, b := rules[k], p.Rules[name][k]
		changed = a.Tool != b.Tool || a.Pattern != b.Pattern || a.Verdict != b.Verdict || fmt.Sprint(a.If) != fmt.Sprint(b.If)
	}
	if !changed {
		return nil, ""
	}
	p.Rules[name] = rules
	return p, name + ": " + how
}

// otherConds drops a condition, turns it around, or has it compare with something else.
func (d drawer) otherConds(conds []obstat.Cond) []obstat.Cond {
	out := slices.Clone(conds)
	i := d.IntN(len(out))
	c := &out[i]
	c.Any = slices.Clone(c.Any)
	j := d.IntN(len(c.Any))
	switch d.IntN(4) {
	case 0:
		return slices.Delete(out, i, i+1)
	case 1:
		c.Not = !c.Not
	case 2:
		if len(c.Any) > 1 {
			c.Any = slices.Delete(c.Any, j, j+1)
			break
		}
		fallthrough
	default:
		t := &c.Any[j]
		if digit := strings.IndexAny(t.Text, "123456"); digit >= 0 {
			t.Text = t.Text[:digit] + string(t.Text[digit]+1) + t.Text[digit+1:]
		} else if *t = d.otherText(*t); d.IntN(2) == 0 {
			c.Any = append(c.Any, conds[i].Any[j])
		}
	}
	return out
}

var aWord = regexp.MustCompile(`[a-z]{3,}`)

// otherText puts another word in place of one of a pattern's.
func (d drawer) otherText(t obstat.Text) obstat.Text {
	if at := aWord.FindAllStringIndex(t.Text, -1); len(at) > 0 {
		w := pick(d, at)
		t.Text = t.Text[:w[0]] + pick(d, []string{"zeta", "status", "docs", "env"}) + t.Text[w[1]:]
	}
	return t
}

func (d drawer) toolIfWhole(r *obstat.Rule) obstat.Text {
	if !r.Whole() {
		return r.Tool
	}
	return d.otherText(r.Tool)
}

// wider cuts a pattern at a blank or slash and lets anything follow.
func (d drawer) wider(t obstat.Text) obstat.Text {
	i := strings.LastIndexAny(t.Text, " /")
	if i <= 4 {
		return t
	}
	switch t.Flavour {
	case pattern.Full, pattern.Search:
		if strings.ContainsAny(t.Text[:i], "(") && !strings.HasPrefix(t.Text, "(?s)") || strings.Count(t.Text[:i], "(") > 1 {
			return t
		}
		t.Text = t.Text[:i] + ".*"
	case pattern.Exact, pattern.JSON:
	default:
		t.Text = t.Text[:i+1] + "*"
	}
	return t
}

var (
	syntax = strings.NewReplacer("(?s)", "", "(?: .*)?", " q", "(?:/.*)?", "/q", "(?:.*/)?", "", "[^/]*", "q", ".*", "q", `\`, "", "**", "q", "*", "q", "(", "", ")", "", "[a-z]+", "q", "?", "", ":q", " q")
	shown  = []string{"ls", "git status", "git push origin main", "rm -rf build", "cat .env", "cat README.md", "curl https://example.com/x", "npm run test", "make", "go test ./...", "docker ps", "echo x > src/a.go", "touch out/x"}
)

// texts are what calls are made of: the patterns as a person would fill them in.
func texts(progs ...*obstat.Program) (tools, out []string) {
	tools = []string{"Bash", "bash", "Read", "read", "read_file", "Write", "write_file", "Edit", "edit", "WebFetch", "webfetch", "web_fetch", "view", "create_file", "str_replace", "git_push", "delete_file", "grep", "skill", "task", "Agent", "mcp__db__query", "mcp__files__list"}
	out = append(out, shown...)
	for _, p := range progs {
		for _, rules := range p.Rules {
			for i := range rules {
				for part := range strings.SplitSeq(rules[i].Pattern.Text, "|") {
					s := syntax.Replace(part)
					out = append(out, s, strings.TrimSuffix(s, " q"), strings.ReplaceAll(s, "q", "r/s"), s+"/t.txt", s+" -v", strings.TrimPrefix(s, "tool:bash:"), "src/"+s, "https://"+s+"/q", "/"+s)
				}
				for part := range strings.SplitSeq(rules[i].Tool.Text, "|") {
					tools = append(tools, syntax.Replace(part), strings.ReplaceAll(syntax.Replace(part), "q", "r"))
				}
			}
		}
	}
	slices.Sort(tools)
	slices.Sort(out)
	return slices.Compact(tools), slices.Compact(out)
}

// probes draws calls without regard to what differs.
func (d drawer) probes(n int, progs ...*obstat.Program) (out []*obstat.Call) {
	tools, words := texts(progs...)
	for range n {
		name := pick(d, tools)
		t, _ := effect.Lookup(name)
		keys := slices.Concat(t.Command, t.Paths, t.URL, []string{"command", "path", "url", "name", "table", "subagent_type"})
		in := map[string]any{keys[min(len(keys)-1, d.IntN(3))]: pick(d, words)}
		if name == "git_push" {
			in = map[string]any{"remote": pick(d, []string{"origin", "zeta"}), "branch": "main"}
		}
		if strings.HasPrefix(name, "mcp__") && d.IntN(2) == 0 {
			in = map[string]any{"table": pick(d, []string{"users", "orders", "zeta", "status"}), "limit": d.IntN(700), "rows": []any{map[string]any{"kind": pick(d, []string{"plain", "docs"})}}}
		}
		raw, _ := json.Marshal(in)
		call := &obstat.Call{Tool: name, Input: raw, Dir: diff.Dir, Roots: []string{diff.Dir}}
		if d.IntN(2) == 0 {
			call.Branch, call.Hint = pick(d, []string{"", "main", "zeta", "status", "release/1"}), pick(d, []string{"", "read-only", "additive", "destructive"})
			call.Agent, call.User = pick(d, []string{"", "codex", "claude-code"}), pick(d, []string{"", "ann", "env"})
			call.Time = time.Date(2026+d.IntN(3), time.Month(1+d.IntN(12)), 1+d.IntN(28), d.IntN(24), d.IntN(60), 0, 0, time.UTC)
			if d.IntN(2) == 0 {
				call.After = []string{pick(d, []string{"read secrets", "run make", "read docs"})}
			}
		}
		out = append(out, call)
	}
	return out
}

// TestMutations changes policies by one rule. Where any of many drawn calls gets a looser or a
// stricter answer, the comparison has to find that too, and each of its witnesses has to flip.
func TestMutations(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(*seed, 18))}
	bases := policies(t)
	world := &obstat.Snapshot{HomeDir: diff.Home}
	looser, tighter, none := 0, 0, 0
	for n := 0; n < *mutations; {
		l := bases[n%len(bases)]
		p, how := d.mutate(l)
		if p == nil {
			continue
		}
		now := compile(l, p)
		if now == nil || now.Digest() == l.Policy.Digest() {
			continue // the text is no pattern, or nothing has changed
		}
		n++
		rep := diff.Compare(l.Policy, now, nil)
		for _, r := range rep.Regions {
			if a, b := l.Policy.Decide(r.Call, world).Verdict, now.Decide(r.Call, world).Verdict; a != r.Was || b != r.Now || a == b || r.Looser != (b > a) {
				t.Errorf("%s, %s: the witness %s %s gets %s and %s, not %s and %s", l.Input.Files[0].Name, how, r.Call.Tool, r.Call.Input, a, b, r.Was, r.Now)
			}
		}
		up, down := false, false
		for _, call := range d.probes(400, l.Program, p) {
			a, b := l.Policy.Decide(call, world).Verdict, now.Decide(call, world).Verdict
			if b > a && rep.Looser == 0 && !up || b < a && rep.Tighter == 0 && !down {
				t.Errorf("%s, %s: %s %s goes from %s to %s, and that was not found", l.Input.Files[0].Name, how, call.Tool, call.Input, a, b)
			}
			up, down = up || b > a, down || b < a
		}
		switch {
		case rep.Looser > 0:
			looser++
		case rep.Tighter > 0:
			tighter++
		default:
			none++
		}
	}
	t.Logf("%d policies changed by one rule: %d looser somewhere, %d only stricter, %d that mean the same", *mutations, looser, tighter, none)
}

// rewrite changes the form of a Program and not its meaning.
func (d drawer) rewrite(l *dialect.Loaded) (*obstat.Program, string) {
	p := l.Policy.Program()
	name := pick(d, userLists(l, p))
	rules := slices.Clone(p.Rules[name])
	i := d.IntN(len(rules))
	r := rules[i]
	how := ""
	switch d.IntN(6) {
	case 0: // what is there twice in a row is there once
		how, rules = "repeat", slices.Insert(rules, i, r)
	case 1: // neighbours of one verdict change places
		if i+1 == len(rules) || rules[i+1].Verdict != r.Verdict {
			return nil, ""
		}
		how = "swap equals"
		rules[i], rules[i+1] = rules[i+1], r
	case 2:
		how, rules[i].Pos, rules[i].Reason, rules[i].Layer = "other place", obstat.Pos{File: "elsewhere", Line: 1, Col: 1}, "because", "other"
	case 3:
		rules[i].Pattern, how = samePattern(r.Pattern), "other pattern"
	case 4:
		rules[i].Tool, how = samePattern(r.Tool), "other tool text"
	case 5: // one that no text fits
		r.Pattern, r.Pos, how = obstat.Text{Flavour: pattern.Full, Text: "a(?!b)b{0}b(?<!b)"}, obstat.Pos{}, "never"
		rules = slices.Insert(rules, i, r)
	}
	p.Rules[name] = rules
	return p, name + ": " + how + " " + r.String()
}

var leadingFlags = regexp.MustCompile(`^(?:\(\?[a-z]+\))*`)

// samePattern returns a pattern in another form.
func samePattern(t obstat.Text) obstat.Text {
	switch t.Flavour {
	case pattern.Full, pattern.Search:
		flags := leadingFlags.FindString(t.Text) // which stand first
		t.Text = flags + "(?:" + t.Text[len(flags):] + ")"
	case pattern.Fnmatch:
		t.Text = strings.ReplaceAll(t.Text, "*", "**")
	}
	return t
}

// TestRewrites changes the form of policies: the comparison stays silent.
func TestRewrites(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(*seed, 19))}
	bases := policies(t)
	for n := 0; n < *mutations; {
		l := bases[n%len(bases)]
		p, how := d.rewrite(l)
		if p == nil {
			continue
		}
		now := compile(l, p)
		if now == nil {
			t.Fatalf("%s, %s does not compile", l.Input.Files[0].Name, how)
		}
		n++
		for _, r := range diff.Compare(l.Policy, now, nil).Regions {
			t.Errorf("%s, %s: %s %s is said to go from %s (%s) to %s (%s)", l.Input.Files[0].Name, how, r.Call.Tool, r.Call.Input, r.Was, r.WasBy.Reason, r.Now, r.NowBy.Reason)
		}
	}
}
