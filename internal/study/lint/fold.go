package lint

import (
	"fmt"

	"github.com/obstat/obstat"
)

// Fold returns the findings with those of one kind, told by the code and by the advice that both give, as
// one: the first, with the places of the others and how many they are.
func Fold(es obstat.Errors) (out obstat.Errors) {
	type kind struct {
		code    obstat.Code
		hint    string
		file    string
		warning bool
	}
	at := map[kind]int{}
	more := map[int]int{}
	for _, e := range es {
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
