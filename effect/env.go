package effect

import (
	"strings"

	"github.com/obstat/obstat/shell"
)

// envRule says what assigning a variable does.
type envRule struct {
	pattern string
	harm    bool
	why     string
	values  []string // values that do no harm although the name can
}

// parseEnvRules reads a block `env harmless` or `env WHY`: patterns of names, each with the
// values that do no harm in parentheses.
func parseEnvRules(head, body string) []envRule {
	head = strings.TrimSpace(head)
	lex := lexer{text: body}
	var out []envRule
	for tok := lex.next(); tok != ""; tok = lex.next() {
		name, values, _ := cutCall(tok)
		out = append(out, envRule{pattern: name, harm: head != "harmless", why: head, values: strings.Fields(values)})
	}
	return out
}

// assign gives an assignment its effect: some variables change what programs run.
func (a *analyzer) assign(name string, v *shell.Word, span shell.Span, cmd int) {
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	r := envLookup(name)
	if r == nil || !r.harm {
		return
	}
	if v.Known {
		for _, ok := range r.values {
			if ok == v.Text {
				return
			}
		}
	}
	a.gap(Environment, name+" "+r.why, span, cmd)
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
		if starMatch(r.pattern, name) && (hit == nil || hit.harm && (!r.harm || len(r.values) > len(hit.values))) {
			hit = r
		}
	}
	return hit
}

func envLookup(name string) *envRule { return kbEnv().find(name) }

// implied looks for assignments that are no commands of their own: by a loop, by arithmetic, by
// ${name:=value}.
func (a *analyzer) implied(s *shell.Script, k *shell.Construct, f *frame) {
	if k.Span.Start < 0 || k.Span.End > len(s.Source) || k.Span.Start >= k.Span.End {
		return
	}
	text := s.Source[k.Span.Start:k.Span.End]
	switch k.Kind {
	case shell.ForLoop, shell.SelectLoop, shell.Coproc:
		if words := strings.Fields(text[:min(len(text), 200)]); len(words) > 1 {
			a.implies(words[1], k, f)
		}
	case shell.BraceParam:
		if i := strings.IndexByte(text, '='); i > 2 {
			a.implies(strings.TrimSuffix(text[2:i], ":"), k, f)
		}
	case shell.CStyleLoop:
		head, _, _ := strings.Cut(text, "))")
		a.arithmetic(head, k, f)
	case shell.ArithCommand, shell.ArithExpansion, shell.Let, shell.TestClause:
		a.arithmetic(text, k, f)
	case shell.Assignment:
		if head, _, ok := strings.Cut(text, "]"); ok && strings.IndexByte(head, '[') > 0 {
			a.arithmetic(head[strings.IndexByte(head, '['):], k, f)
		}
	}
}

func (a *analyzer) implies(name string, k *shell.Construct, f *frame) {
	if validName(name) {
		a.assign(name, &shell.Word{}, f.span(k.Span), f.owner)
	}
}

// arithmetic takes every name in an expression that assigns anything as assigned.
func (a *analyzer) arithmetic(text string, k *shell.Construct, f *frame) {
	if !strings.ContainsRune(text, '=') && !strings.Contains(text, "++") && !strings.Contains(text, "--") {
		return
	}
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && isWordByte(text[j]) {
			j++
		}
		if j > i {
			a.implies(text[i:j], k, f)
		}
		i = j + 1
	}
}
