package agent

import (
	"bytes"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// An Outcome is the effect of a hook's reply on the agent.
type Outcome uint8

// The outcomes. The zero value is the one that must not happen to a canary.
const (
	Runs    Outcome = iota // the call runs
	Asks                   // the agent's own prompt decides
	Blocked                // the call does not run
)

// String returns the outcome as a word.
func (o Outcome) String() string {
	return [...]string{"runs", "asks", "blocked"}[min(o, Blocked)]
}

// said is a reply with its object, as far as it has one.
type said struct {
	*Reply
	object *tree.Node // nil if standard output is no whole object
	words  bool       // something is on standard error
}

// Outcome returns the effect of a reply to the hook. It was observed by running the
// agents where that was possible, and is taken from their documents for the others;
// where these leave it open, the call runs.
func (h *Hook) Outcome(r *Reply) Outcome {
	return h.agent.honours(h, &said{Reply: r, object: whole(r.Stdout), words: len(bytes.TrimSpace(r.Stderr)) > 0})
}

// As returns the hook as one of an agent's.
func (h *Hook) As(name string) *Hook {
	as := *h
	as.agent = Of(name)
	return &as
}

// Honours tells whether the agent reads a reply as it is meant: that the call may run, or not.
func (h *Hook) Honours(r *Reply, runs bool) bool { return (h.Outcome(r) == Runs) == runs }

// whole returns the object that b is, nil if it is none.
func whole(b []byte) *tree.Node {
	n, problems := jsonx.Parse(b, jsonx.Options{})
	if tree.Fatal(problems) || !n.Is(tree.Object) {
		return nil
	}
	return n
}

// blockedIf is Blocked or Runs.
func blockedIf(is bool) Outcome {
	if is {
		return Blocked
	}
	return Runs
}

// outcomeOf reads deny, and ask where that is honoured.
func outcomeOf(verdict string, ask bool) Outcome {
	if ask && verdict == "ask" {
		return Asks
	}
	return blockedIf(verdict == "deny")
}
