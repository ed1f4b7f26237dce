package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

var (
	pathDirs        = kb.Table("!path-dirs")
	lineSplitters   = kb.Table("!splits-lines")
	secretVariables = kb.Table("!secret-variables")
	plainVariables  = kb.Table("!plain-variables")
	switching       = kb.Table("!switching")
)

// envRule describes a variable by the effect of assigning it.
type envRule struct {
	pattern string
	harm    bool
	why     string
	values  []string // words of values that do no harm although the name can
	project bool     // places inside the workspace only add its own code
	address bool     // names another server, and no program
	proxy   bool     // likewise, and programs connect to it
}

// parseEnvRules reads a block `env harmless` or `env WHY`: patterns of names, each with the
// values that do no harm in parentheses.
func parseEnvRules(head, body string) []envRule {
	head, project := strings.CutPrefix(strings.TrimSpace(head), "project ")
	head, address := strings.CutPrefix(head, "address ")
	head, proxy := strings.CutPrefix(head, "proxy ")
	lex := kb.Lexer{Text: body}
	var out []envRule
	for tok := lex.Next(); tok != ""; tok = lex.Next() {
		name, values, _ := kb.CutCall(tok)
		out = append(out, envRule{name, head != "harmless", head, strings.Fields(values), project, address || proxy, proxy})
	}
	return out
}

// assign gives an assignment its effect: some variables change which programs run.
func (a *analyzer) assign(name string, v *shell.Word, span shell.Span, cmd int) {
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	if !a.afford(1) {
		return
	}
	a.an.Assigned = append(a.an.Assigned, name)
	r := a.dict.variable(name)
	if r == nil || !r.harm {
		return
	}
	switch {
	case v.Known && r.allows(v.Text):
	case name == "PATH" && a.systemFirst(v):
		a.moreCode("PATH has more programs", span, cmd)
	case r.project && a.ownPlaces(v):
		a.moreCode(name+" adds code of the project", span, cmd)
	case name == "PATH" && appends(v) && !strings.Contains(a.an.Source, "unset"):
		a.moreCode("PATH has more programs", span, cmd)
	case r.address:
		a.proxied(r, v, span, cmd)
		a.gap(DynamicOperand, name+" "+r.why, span, cmd)
	default:
		a.gap(Environment, name+" "+r.why, span, cmd)
	}
}

// unset is a variable that the shell forgets: `unset PATH`. One that is only suspected by a part of its name, as
// CARGO_TEST_OPTIONS is by CARGO_*, decides nothing where it is not there.
func (c *call) unset(w *shell.Word) {
	name, _, _ := strings.Cut(w.Text, "[")
	if r := c.a.dict.variable(name); w.Known && r != nil && r.harm && strings.Contains(r.pattern, "*") && !r.address {
		c.a.an.Assigned = append(c.a.an.Assigned, name)
		return
	}
	c.a.assign(w.Text, &shell.Word{}, c.f.span(w.Span), c.cmd)
	if !w.Known {
		c.gap(DynamicOperand, "which variable is forgotten is known only at run time", w)
	}
}

// proxied is a variable that names a host which programs connect to: `http_proxy=http://h.example curl localhost`.
func (a *analyzer) proxied(r *envRule, v *shell.Word, span shell.Span, cmd int) {
	for i := 0; r.proxy && i < len(hostsIn(v.Text)); i++ {
		e := Effect{Kind: Connect, Origin: Origin{Command: cmd, Span: span}}
		e.Raw, e.Host = v.Text, hostsIn(v.Text)[i]
		a.effect(e)
	}
}

// moreCode is a variable that makes more code run.
func (a *analyzer) moreCode(detail string, span shell.Span, cmd int) {
	a.effect(Effect{Kind: Code, Detail: detail, Certain: true, Origin: Origin{Command: cmd, Span: span}})
}

// allows reports whether every word of a value is one that does no harm: `RUSTFLAGS='-D warnings'`.
func (r *envRule) allows(value string) bool {
	if value == "" {
		return slices.Contains(r.values, "cat") // no pager at all
	}
	if len(r.values) == 0 || strings.Contains(value, "..") || strings.ContainsAny(value, "'\"\\`$;|&<>\n") {
		return false
	}
	for word := range strings.FieldsSeq(value) {
		if !slices.ContainsFunc(r.values, func(ok string) bool { return kb.Match(ok, word) }) {
			return false
		}
	}
	return true
}

// appends reports whether a value of PATH only adds places behind those that there are, so that no program is another
// than before: `$PATH:$HOME/go/bin`.
func appends(v *shell.Word) bool {
	_, value, _ := strings.Cut(v.Raw, "PATH=")
	if value == "" {
		value = v.Raw
	}
	value = strings.TrimLeft(value, `"`)
	first := strings.HasPrefix(value, "$PATH:") || strings.HasPrefix(value, "${PATH}:")
	return first && !v.Known && !strings.ContainsAny(value, "`(")
}

// systemFirst reports whether a value of PATH only puts directories of `!path-dirs` before the others, which the
// command does not speak of elsewhere: `/usr/local/go/bin:$HOME/.cargo/bin:$PATH`.
func (a *analyzer) systemFirst(v *shell.Word) bool {
	value := strings.Trim(strings.TrimPrefix(v.Raw, "PATH="), `"`)
	rest := value
	for rest != "$PATH" && rest != "${PATH}" {
		var dir string
		dir, rest, _ = strings.Cut(rest, ":")
		for _, home := range [...]string{"$HOME/", "${HOME}/", "~/", "$PWD/", "./"} {
			dir = strings.TrimPrefix(dir, home)
		}
		if v.Known || !pathDirs().Has(dir) || strings.Count(a.an.Source, dir) > 1 || strings.Contains(a.an.Source, "unset") {
			return false
		}
	}
	return rest != value
}

// splitsLine reports whether an assignment only makes `read` split its line: `while IFS=, read -r a b`.
func splitsLine(as *shell.Assign, c *shell.Command, s *shell.Script) bool {
	if as.Name != "IFS" || len(c.Words) == 0 || !c.Words[0].Known || s == nil || s.Redefines(c.Words[0].Text) {
		return false
	}
	return lineSplitters().Has(c.Words[0].Text)
}

// aloneInLine reports whether a variable is only suspected by the end of its name, as KEYCHAIN_PATH is by *_PATH, and
// the line does nothing but set variables: it is not exported, and nothing runs that could look at it.
func (a *analyzer) aloneInLine(as *shell.Assign, c *shell.Command, f *frame) bool {
	if f.script != a.top || f.script == nil || len(c.Words) > 0 || f.script.Opaque() {
		return false
	}
	runs := func(c shell.Command) bool { return len(c.Words) > 0 || len(c.Redirects) > 0 }
	r := a.dict.variable(as.Name)
	return r != nil && r.harm && strings.HasPrefix(r.pattern, "*") && !slices.ContainsFunc(f.script.Commands, runs)
}

// ownPlaces reports whether a value is a list of places inside the workspace.
func (a *analyzer) ownPlaces(v *shell.Word) bool {
	roots := a.opts.Roots
	if len(roots) == 0 {
		roots = []string{a.opts.Dir}
	}
	inside := func(p string) bool {
		at := paths.Resolver{FS: a.opts.FS, Dir: a.opts.Dir}.Resolve(p)
		return slices.ContainsFunc(roots, func(root string) bool { return at.Real != "" && paths.Inside(root, at.Real) })
	}
	for p := range strings.SplitSeq(v.Text, ":") {
		if !v.Known || p != "" && !inside(p) {
			return false
		}
	}
	return true
}

// listsVariables reports whether the program prints the variables: `set -e` sets an option, and
// `declare -f` prints functions.
func (c *call) listsVariables() bool {
	if c.spec.style&styleBuiltin == 0 {
		return true
	}
	for i := range c.words[1:] {
		if c.args[0].role == roleText || strings.ContainsAny(c.words[1+i].Text, "fF") {
			return false
		}
	}
	return true
}

// showVariable is the name of a variable that is printed: `printenv HOME`.
func (c *call) showVariable(w *shell.Word) {
	if !w.Known || SecretVariable(w.Text) {
		c.environ(w)
	}
}

// HarmlessVariable reports whether the knowledge base says of a variable that no value of it does harm: CI, RUST_LOG.
func HarmlessVariable(name string) bool {
	r := builtin.variable(name)
	return r != nil && !r.harm
}

// SecretVariable reports whether a variable is called like a secret: GITHUB_TOKEN, and not GIT_AUTHOR_NAME.
func SecretVariable(name string) bool {
	name = strings.ToUpper(name)
	for _, plain := range plainVariables().Words() {
		name = strings.ReplaceAll(name, plain, "")
	}
	return secretVariables().In(name)
}

// prints looks for the variables that echo and printf show: `echo $API_KEY`, not `echo ${API_KEY:+set}`.
func (c *call) prints() {
	for i := range c.words {
		w := &c.words[i]
		for rest := w.Raw; !w.Known; {
			at := strings.IndexByte(rest, '$')
			if at < 0 {
				break
			}
			rest = strings.TrimPrefix(rest[at+1:], "{")
			end := 0
			for end < len(rest) && rest[end] < 0x80 && word.IsByte(rest[end]) {
				end++
			}
			if after := strings.TrimPrefix(rest[end:], ":"); SecretVariable(rest[:end]) && !strings.HasPrefix(after, "+") {
				c.environ(w)
				break
			}
			rest = rest[end:]
		}
	}
}

// environ is a word that makes the program print variables.
func (c *call) environ(w *shell.Word) {
	e := c.newEffect(Read, w)
	e.Raw, e.shape, e.Unnamed = "", nil, true // no file
	e.Sensitive, e.Secret = "environment", true
	c.a.effect(e)
}

// envTable finds the rule of a variable.
type envTable struct {
	exact   map[string]*envRule
	byFirst [128][]*envRule // patterns such as GIT_*, by their first byte
	byLast  [128][]*envRule // patterns such as *_PATH, by their last byte
}

func (t *envTable) add(rules []envRule) {
	for i := range rules {
		r := &rules[i]
		first, last := r.pattern[0]&127, r.pattern[len(r.pattern)-1]&127
		switch {
		case strings.IndexByte(r.pattern, '*') < 0:
			t.exact[r.pattern] = r
		case first != '*':
			t.byFirst[first] = append(t.byFirst[first], r)
		case last != '*':
			t.byLast[last] = append(t.byLast[last], r)
		default: // *X*: under every letter that a name can end in
			for ch := range t.byLast {
				t.byLast[ch] = append(t.byLast[ch], r)
			}
		}
	}
}

// find returns the rule for a name: by its own name first, then a pattern, a harmless one or one
// that knows harmless values before others.
func (t *envTable) find(name string) *envRule {
	if r := t.exact[name]; r != nil || name == "" {
		return r
	}
	hit := better(nil, t.byFirst[name[0]&127], name)
	return better(hit, t.byLast[name[len(name)-1]&127], name)
}

func better(hit *envRule, list []*envRule, name string) *envRule {
	for _, r := range list {
		if kb.Match(r.pattern, name) && (hit == nil || hit.harm && (!r.harm || len(r.values) > len(hit.values))) {
			hit = r
		}
	}
	return hit
}
