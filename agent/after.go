package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/format/tree"
)

// A Done is the outcome of a call that was decided before.
type Done struct {
	State  string        // one of the states
	Took   time.Duration // zero where the agent does not say
	Result []byte        // as the agent wrote it
	Error  string        // its words, where the call failed
}

// The states of calls.
const (
	Ran    = "ran"
	Failed = "failed"
	NotRun = "not run"
)

// claudeAfter are the events of Claude Code, and of its imitators, that tell the outcome of
// a call.
const claudeAfter = "PostToolUse PostToolUseFailure PermissionDenied"

// after reads an event that tells the outcome of a call: its result is at the key result.
func (p *payload) after(e *Event, result, took string) {
	d := &Done{State: Ran, Took: p.millis(p.root, took)}
	if n := p.root.Get(result); n != nil {
		d.Result = n.Source(p.src)
		if err := n.Get("error"); err != nil && !err.Is(tree.Null) && !isBool(err, false) {
			d.State, d.Error = Failed, wordsOf(err, p.src)
		}
	}
	for _, key := range []string{"error", "error_message"} {
		if n := p.root.Get(key); n != nil && !n.Is(tree.Null) {
			d.State, d.Error = Failed, wordsOf(n, p.src)
		}
	}
	switch {
	case e.Name == "PermissionDenied" || text(p.root, "failure_type") == "permission_denied":
		d.State, d.Error = NotRun, text(p.root, "reason")
	case strings.HasSuffix(e.Name, "Failure"):
		d.State = Failed
	}
	e.Done = d
}

// Replaces tells whether the agent takes another output of a call from its hook at an event.
func (a *Agent) Replaces(event string) bool { return a.printed != nil && among(a.printedAt, event) }

// printed answers with the output that the model gets to see in place of the tool's.
func (e *Event) printed(o *Options) Reply {
	told := fmt.Sprintf("obstat has masked %d secrets in what this tool printed: each stands as [masked]", o.Secrets)
	if o.Secrets == 1 {
		told = "obstat has masked a secret in what this tool printed: it stands as [masked]"
	}
	return e.Who().printed(e, told, o.Printed)
}

func claudePrinted(e *Event, told string, out []byte) Reply {
	said := obj("hookEventName", e.Name, "additionalContext", told)
	return reply(obj("hookSpecificOutput", with(said, "updatedToolOutput", out)), "", 0)
}

// refusedOutput answers an agent that takes the reason of a refused result in the result's place.
func refusedOutput(decision string) func(*Event, string, []byte) Reply {
	return func(_ *Event, told string, out []byte) Reply {
		return reply(obj("decision", decision, "reason", told+"\n\n"+outputText(out)), "", 0)
	}
}

// outputText returns the text of an output: of Gemini CLI's, the part for the model.
func outputText(out []byte) string {
	var text string
	if json.Unmarshal(out, &text) == nil {
		return text
	}
	root := whole(out)
	for _, key := range []string{"llmContent", "output"} {
		if n := root.Get(key); n.Is(tree.String) {
			return n.Str
		}
	}
	return string(out)
}

// wordsOf returns the text of a node, or its source.
func wordsOf(n *tree.Node, src []byte) string {
	if n.Is(tree.String) {
		return n.Str
	}
	if m := text(n, "message"); m != "" {
		return m
	}
	return string(n.Source(src))
}

// millis returns the milliseconds at a key, zero where there are none.
func (p *payload) millis(of *tree.Node, key string) time.Duration {
	if n := of.Get(key); n.Is(tree.Number) {
		if v, err := strconv.ParseFloat(n.Num, 64); err == nil && v >= 0 && v < 1e12 {
			return time.Duration(v * float64(time.Millisecond))
		}
	}
	return 0
}
