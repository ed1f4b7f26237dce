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

// envLookup returns the first rule for a name: harmless ones come first.
func envLookup(name string) *envRule {
	rules := kb().env
	var hit *envRule
	for i := range rules {
		r := &rules[i]
		if !envMatch(r.pattern, name) {
			continue
		}
		if !r.harm {
			return r
		}
		if hit == nil || len(r.values) > 0 {
			hit = r
		}
	}
	return hit
}

func envMatch(pat, name string) bool {
	return pat == name || strings.IndexByte(pat, '*') >= 0 && starMatch(pat, name)
}

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
