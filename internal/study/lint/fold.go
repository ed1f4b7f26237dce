package lint

import (
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/ledger"
)

// Masked returns the findings without the secrets that rules hold, each with advice.
func Masked(es obstat.Errors) obstat.Errors {
	m := ledger.NewMasker(nil)
	out := make(obstat.Errors, len(es))
	for i, e := range es {
		one := *e
		if masked := m.Text(e.Msg); !strings.Contains(e.Msg, holdsSecret) && looksSecret(hidden(e.Msg, masked)) {
			one.Msg = masked
		}
		if one.Hint == "" && one.Warning {
			one.Hint = usual[one.Code]
		}
		out[i] = &one
	}
	return out
}

// usual are the advice for findings without their own.
var usual = map[obstat.Code]string{obstat.CodeNoEffect: "take it out",
	obstat.CodeUnknownKey: "take it out: nothing reads it"}

// Fold returns the findings with those of one kind, told by the code and by the advice that both give, as
// one: the first, with the places of the others and how many they are. Of a rule without effect that is told once.
func Fold(es obstat.Errors) (out obstat.Errors) {
	type kind struct {
		code    obstat.Code
		hint    string
		file    string
		warning bool
	}
	at := map[kind]int{}
	more := map[int]int{}
	dead := map[obstat.Pos]bool{}
	for _, e := range Masked(es) {
		if e.Warning && e.Code == obstat.CodeNoEffect && e.Pos.IsValid() {
			if dead[e.Pos] {
				continue
			}
			dead[e.Pos] = true
		}
		k := kind{e.Code, e.Hint, e.Pos.File, e.Warning}
		first, seen := at[k]
		if !seen || e.Hint == "" || !e.Warning {
			at[k] = len(out)
			folded := *e
			out = append(out, &folded)
			continue
		}
		more[first]++
		out[first].Also = append(out[first].Also, e.Pos)
	}
	for i, n := range more {
		out[i].Msg = fmt.Sprintf("%s (and %d more like it)", out[i].Msg, n)
	}
	return out
}
