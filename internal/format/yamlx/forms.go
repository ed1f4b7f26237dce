package yamlx

import (
	"regexp"
	"sync"
)

// forms holds the regular expressions that plain scalars are recognised by:
// those of YAML 1.2's core schema and those of YAML 1.1 as PyYAML has them.
type forms struct {
	coreInt, coreBase, coreFloat, special *regexp.Regexp
	oldInt, oldSixty, oldFloat, oldDate   *regexp.Regexp
}

// patterns compiles the expressions at the first scalar that may be a number,
// so that a process which reads no YAML does not pay for them.
var patterns = sync.OnceValue(func() *forms {
	whole := func(expr string) *regexp.Regexp { return regexp.MustCompile(`\A(?:` + expr + `)\z`) }
	return &forms{
		coreInt:   whole(`[-+]?[0-9]+`),
		coreBase:  whole(`0(o[0-7]+|x[0-9a-fA-F]+)`),
		coreFloat: whole(`[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`),
		special:   whole(`[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)`),
		oldInt:    whole(`[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)`),
		oldSixty:  whole(`[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*`),
		oldFloat:  whole(`([-+]?[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+][0-9]+)?`),
		// a day, or a day with a time and perhaps a zone
		oldDate: whole(`[0-9]{4}-[0-9]{2}-[0-9]{2}|` +
			`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?`),
	}
})
