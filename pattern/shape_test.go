package pattern

import (
	"regexp"
	"strings"
	"sync"
	"testing"
)

// regulars holds the compiled Regular of each pattern a test comes by.
var regulars sync.Map

func regularOf(t *testing.T, expr string) *regexp.Regexp {
	t.Helper()
	if re, ok := regulars.Load(expr); ok {
		return re.(*regexp.Regexp)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		t.Fatalf("Regular %q: %v", expr, err)
	}
	regulars.Store(expr, re)
	return re
}

// checkShape holds the promises of p's shape against one answer.
func checkShape(t *testing.T, p *Pattern, text string, matched bool) {
	t.Helper()
	sh := p.Shape()
	ordered := inOrder(sh, text)
	switch {
	case matched && !ordered:
		t.Errorf("%s %q matches %q, against its shape %+v", p.Flavour(), p, text, sh)
	case sh.Exact && matched != (text == sh.Prefix):
		t.Errorf("%s %q on %q is %v, against its exact shape %+v", p.Flavour(), p, text, matched, sh)
	case sh.Ordered && matched != ordered:
		t.Errorf("%s %q on %q is %v, against its ordered shape %+v", p.Flavour(), p, text, matched, sh)
	}
	if sh.Regular != "" && regularOf(t, sh.Regular).MatchString(text) != matched {
		t.Errorf("%s %q on %q is %v, against its regular shape %s", p.Flavour(), p, text, matched, sh.Regular)
	}
}

// inOrder: text is prefix, fragments and suffix in order, anything between.
func inOrder(sh Shape, text string) bool {
	rest, ok := strings.CutPrefix(text, sh.Prefix)
	for _, f := range sh.Fragments {
		i := strings.Index(rest, f)
		if i < 0 {
			return false
		}
		rest = rest[i+len(f):]
	}
	return ok && strings.HasSuffix(rest, sh.Suffix)
}
