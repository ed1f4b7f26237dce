package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/ledger"
)

const (
	// maxInput is how much of an input is written down, or shown to a human.
	maxInput = 1 << 20
	// maxText bounds a reason in the ledger.
	maxText = 8 << 10
)

func hexDigest(c *obstat.Call) string {
	d := c.Digest()
	return hex.EncodeToString(d[:])
}

// base is what every record about the turn's call says.
func (t *turn) base(kind ledger.Kind) *ledger.Record {
	c := t.call
	return &ledger.Record{Time: time.Now(), Kind: kind, Agent: c.Agent, Session: c.Session, User: c.User, Dir: c.Dir, Request: t.request,
		Tool: c.Tool, Call: hexDigest(c), Policy: t.j.loaded.Policy.Digest()}
}

// record writes down a decision, and all that is needed to make it again.
func (t *turn) record(d *obstat.Decision) *ledger.Record {
	c, put := t.call, t.j.call
	r := t.base(ledger.Decision)
	r.Verdict, r.Stage, r.Reason = d.Verdict.String(), d.Stage, text(d.Reason())
	if d.Rule != nil {
		r.Rule, r.Pos = text(d.Rule.String()), d.Rule.Pos
	}
	more := ledger.Circumstances{Said: t.j.d.Verdict, Subjects: c.Subjects, Roles: c.Roles, Channel: c.Channel, Roots: c.Roots, Mode: put.Mode, Repeat: c.Repeat}
	var partial string
	r.Input, more.Partial = input(c.Input)
	if t.given != nil || d.Input != nil {
		given := t.given
		if given == nil {
			given = d.Input
		}
		more.Given, partial = input(given)
	}
	if r.World = t.world.seen(); r.World == nil {
		more.Partial = join(more.Partial, "too much of the machine was looked at to write it down")
	}
	more.Partial = join(more.Partial, partial)
	r.Detail, _ = json.Marshal(&more)
	r.Trace = traceDigest(t.j.trace)
	return r
}

func traceDigest(tr *obstat.Trace) string {
	b, err := json.Marshal(tr)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// input returns an input as it is written down: in any case JSON of a bearable
// size. partial says what is not as it was.
func input(raw []byte) (out json.RawMessage, partial string) {
	switch {
	case len(raw) == 0:
		return nil, ""
	case len(raw) > maxInput:
		partial = fmt.Sprintf("the input has %d bytes; its digest stands for it", len(raw))
		out, _ = json.Marshal(partial)
		return out, partial
	case !json.Valid(raw):
		out, _ = json.Marshal(text(string(raw)))
		return out, "the input is not JSON"
	}
	return slices.Clone(raw), ""
}

// text bounds a text that is written down.
func text(s string) string { return clip(s, maxText) }

// clip shortens s to about n bytes, on a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:n], len(s))
}

func firstLine(s string) string {
	line, rest, more := strings.Cut(s, "\n")
	if more {
		line += fmt.Sprintf(" (and %d problems more)", strings.Count(rest, "\n")+1)
	}
	return clip(line, 500)
}

func sources(l *dialect.Loaded) string {
	var names []string
	for _, f := range l.Input.Files {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ") + " (" + l.Dialect.Name() + ")"
}

// asked writes down that a request was put to humans.
func (t *turn) asked(r *approval.Request) *ledger.Record {
	rec := t.base(ledger.Ask)
	rec.Verdict, rec.Rule, rec.Pos, rec.Reason = obstat.Ask.String(), text(r.Rule), r.Pos, text(r.Reason)
	rec.Input, _ = input(t.call.Input)
	return rec
}

// answered writes down what became of a request.
func (t *turn) answered(r *approval.Request) *ledger.Record {
	rec := t.base(ledger.Answer)
	rec.Verdict = string(r.State)
	answers := make([]approval.Answer, len(r.Answers))
	for i, a := range r.Answers {
		if a.Input != nil {
			a.Input, _ = input(a.Input)
		}
		answers[i] = a
	}
	rec.Reason = text(stateWords(r))
	if len(answers) > 0 {
		rec.Detail, _ = json.Marshal(answers)
	}
	return rec
}

// GrantRecord returns the record that says a grant was made, or by whom it was
// taken back.
func GrantRecord(gr *approval.Grant, revokedBy string) *ledger.Record {
	rec := &ledger.Record{Time: time.Now(), Kind: ledger.Grant, Request: gr.Request, Tool: gr.Tool, Call: gr.Digest, Verdict: "granted", User: gr.By}
	switch gr.Scope {
	case approval.Session:
		rec.Session = gr.Key
	case approval.Agent:
		rec.Agent = gr.Key
	case approval.Workspace:
		rec.Dir = gr.Key
	}
	rec.Reason = fmt.Sprintf("%s granted it for the %s %s", gr.By, gr.Scope, gr.Key)
	if revokedBy != "" {
		rec.Verdict, rec.Reason, rec.User = "revoked", "taken back by "+revokedBy, revokedBy
	}
	rec.Detail, _ = json.Marshal(gr)
	return rec
}
