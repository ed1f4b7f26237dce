package pattern

type dfa struct{ checks []check }
type dfaPool struct{ dfas []*dfa }

func newDFA(checks []check) *dfa { return &dfa{checks: checks} }
