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
