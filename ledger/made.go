package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/obstat/obstat"
)

const (
	// maxLegible is how much of an input is written down.
	maxLegible = 1 << 20
	// maxText bounds a reason.
	maxText = 8 << 10
)

// Made is a decision on its way into the ledger.
type Made struct {
	Call     *obstat.Call // as it was made
	Digest   string       // of the call, in hexadecimal; "" is worked out
	Decision *obstat.Decision
	Said     obstat.Verdict // the policy's own verdict, before anybody was asked
	Mode     obstat.Mode    // the call was judged in
	// Given is the input that a human or the policy put in place of the call's.
	Given  []byte
	World  *obstat.Snapshot // nil: too much was looked at to write it down
	Policy string           // digest of the policy
	Trace  string           // digest of the trace
	// Request ties an ask, its answer and the decision together.
	Request string
	// Suggested are the rules that the agent shows with its own prompt, in its own
	// notation, for a person to choose from.
	Suggested []string
}

// Record writes the decision down with all that is needed to make it again.
// Nothing is masked yet.
func (m *Made) Record() *Record {
	c, d := m.Call, m.Decision
	if m.Digest == "" {
		m.Digest = c.DigestText()
	}
	r := &Record{Time: time.Now(), Kind: Decision, Agent: c.Agent, Session: c.Session, User: c.User, Dir: c.Dir, Request: m.Request,
		Tool: c.Tool, Call: m.Digest, Policy: m.Policy, Trace: m.Trace, World: m.World,
		Verdict: d.Verdict.String(), Stage: d.Stage, Reason: Clip(d.Reason())}
	if d.Rule != nil {
		r.Rule, r.Pos = Clip(d.Rule.String()), d.Rule.Pos
	}
	judged := *c
	judged.Mode = m.Mode
	more := Circumstances{Said: m.Said, By: d.By.Kind, Subjects: c.Subjects, Roots: c.Roots, Project: c.Project,
		Repeat: c.Repeat, Marks: d.Marks, Suggested: m.Suggested, call: &judged}
	if m.Mode == "" {
		more.InMode = d.Mode
	}
	var partial string
	r.Input, more.Partial = Legible(c.Input)
	if m.Given != nil {
		more.Given, partial = Legible(m.Given)
	}
	if m.World == nil {
		more.Partial = both(more.Partial, "too much of the machine was looked at to write it down")
	}
	more.Partial = both(more.Partial, partial)
	// It holds texts, numbers and JSON that was read before: it can be written.
	r.Detail, _ = more.encode()
	return r
}

func both(a, b string) string {
	if a != "" && b != "" {
		return a + "; " + b
	}
	return a + b
}

// Legible returns an input as it is written down: in any case JSON of a bearable
// size. partial says how it differs from the original.
func Legible(raw []byte) (out json.RawMessage, partial string) {
	switch {
	case len(raw) == 0:
		return nil, ""
	case len(raw) > maxLegible:
		partial = fmt.Sprintf("the input has %d bytes; its digest stands for it", len(raw))
		out, _ = json.Marshal(partial)
		return out, partial
	case !json.Valid(raw):
		out, _ = json.Marshal(Clip(string(raw)))
		return out, "the input is not JSON"
	}
	return slices.Clone(raw), ""
}

// Clip bounds a text that is written down.
func Clip(s string) string { return ClipTo(s, maxText) }

// ClipTo shortens s to about n bytes, on a character's border.
func ClipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:n], len(s))
}
