package yamlx

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/obstat/obstat/internal/format/tree"
)

// scalar makes a node of a raw scalar. The text of a plain one gives its type
// (`12` is a number), a quoted one is a string unless its tag says otherwise.
func (p *parser) scalar(r raw, pr props) *tree.Node {
	n := &tree.Node{Style: r.style, Start: r.start, End: r.end}
	text := r.text
	tag := longTag(pr.tag)
	switch {
	case tag == "str" || tag == "" && r.style != tree.Plain:
		n.Kind, n.Str = tree.String, text
		return n
	case tag == "?" || tag == "map" || tag == "seq":
		p.badTag(pr)
		n.Kind, n.Str = tree.String, text
		return n
	}
	v12, v11 := core(text), old(text)
	v := v12
	if p.opt.V11 {
		v = v11
	}
	if v12 != v11 && tag == "" {
		p.log.Add(tree.Problem{Offset: r.start, Code: tree.CodeWord, Warning: true,
			Msg:  fmt.Sprintf("%.40q is %s to YAML 1.1 readers and %s to YAML 1.2 readers", text, v11.say(), v12.say()),
			Hint: v11.hint()})
	}
	n.Kind, n.Num, n.Bool = v.kind, v.num, v.yes
	if v.kind == tree.String {
		n.Str = text
	}
	want := map[string]tree.Kind{"int": tree.Number, "float": tree.Number, "bool": tree.Bool, "null": tree.Null}[tag]
	if tag != "" && want != v.kind {
		p.badTag(pr)
	}
	return n
}

// meaning is the value that a plain scalar stands for; a text that is no null,
// boolean or number is a string.
type meaning struct {
	kind tree.Kind
	num  string
	yes  bool
	date bool
}

func (m meaning) say() string {
	switch {
	case m.date:
		return "a date"
	case m.kind == tree.Bool:
		return fmt.Sprint(m.yes)
	case m.kind == tree.Number:
		return "the number " + m.num
	}
	return m.kind.String()
}

func (m meaning) hint() string {
	if m.kind == tree.Bool {
		return fmt.Sprintf("write %v, or quote it", m.yes)
	}
	return "quote it if it is meant as text"
}

// both reads the values that YAML 1.1 and 1.2 agree on; ok is false where they may differ.
func both(text string) (meaning, bool) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return meaning{kind: tree.Null}, true
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return meaning{kind: tree.Bool, yes: text[0] == 't' || text[0] == 'T'}, true
	}
	if !strings.ContainsAny(text[:1], "+-.0123456789yYnNoO") {
		return meaning{kind: tree.String}, true
	}
	if len(text) < 6 && patterns().special.MatchString(text) {
		return meaning{kind: tree.Number, num: strings.ToLower(text)}, true
	}
	return meaning{kind: tree.String}, false
}

// core reads a scalar by the core schema of YAML 1.2.
func core(text string) meaning {
	m, done := both(text)
	switch {
	case done || len(text) > 100:
	case patterns().coreInt.MatchString(text):
		return meaning{kind: tree.Number, num: integer(text, 10)}
	case patterns().coreBase.MatchString(text):
		return meaning{kind: tree.Number, num: integer(text, 0)}
	case patterns().coreFloat.MatchString(text):
		return meaning{kind: tree.Number, num: decimal(text)}
	}
	return m
}

// old reads a scalar by YAML 1.1 as PyYAML does: `yes` is true, `1:30` is 90.
func old(text string) meaning {
	m, done := both(text)
	if done || len(text) > 100 {
		return m
	}
	switch strings.ToLower(text) {
	case "yes", "on", "no", "off":
		if t := text; t == strings.ToLower(t) || t == strings.ToUpper(t) || t[1:] == strings.ToLower(t[1:]) {
			return meaning{kind: tree.Bool, yes: strings.EqualFold(t, "yes") || strings.EqualFold(t, "on")}
		}
	}
	bare := strings.ReplaceAll(text, "_", "")
	switch {
	case patterns().oldInt.MatchString(text):
		if num := integer(bare, 0); num != "" {
			return meaning{kind: tree.Number, num: num}
		}
	case patterns().oldSixty.MatchString(text):
		return meaning{kind: tree.Number, num: sixty(bare)}
	case patterns().oldFloat.MatchString(text):
		return meaning{kind: tree.Number, num: decimal(bare)}
	case patterns().oldDate.MatchString(text):
		m.date = true
	}
	return m
}

// integer writes an integer in decimal. Base 0 goes by the prefix, where a
// leading 0 alone means octal.
func integer(text string, base int) string {
	v, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), base)
	if !ok {
		return ""
	}
	return v.String()
}

// decimal writes a decimal fraction as JSON does.
func decimal(text string) string {
	text = strings.TrimPrefix(text, "+")
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	mantissa, exp := text, ""
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exp = text[:i], text[i:]
	}
	whole, frac, dot := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if dot && frac == "" {
		frac = "0"
	}
	if dot {
		whole += "." + frac
	}
	return sign + whole + exp
}

// sixty writes a number of base-60 digits, such as 1:30, in decimal.
func sixty(text string) string {
	text = strings.TrimPrefix(text, "+")
	neg := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(text, "-")
	total, frac := new(big.Int), ""
	for part := range strings.SplitSeq(text, ":") {
		whole, f, dot := strings.Cut(part, ".")
		digit, ok := new(big.Int).SetString(whole, 10)
		if !ok {
			return ""
		}
		if dot {
			frac = "." + f
			if f == "" {
				frac = ".0"
			}
		}
		total.Mul(total, big.NewInt(60)).Add(total, digit)
	}
	if neg {
		return "-" + total.String() + frac
	}
	return total.String() + frac
}
