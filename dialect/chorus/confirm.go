package chorus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// A Question is a confirmation as it is put to people.
type Question struct {
	Agent   string
	Action  string // the action string
	Channel string // where the session runs
	User    string // who started it
	// Why is what the policy says beyond the document's prompt, if anything.
	Why string
	// Timeout is how long there is to answer.
	Timeout time.Duration
}

// Text returns the document's prompt. Characters that could make the action
// look like another one are shown by their numbers.
func (q *Question) Text() string {
	category, detail, _ := strings.Cut(strings.TrimPrefix(q.Action, toolPrefix), ":")
	var b strings.Builder
	fmt.Fprintf(&b, "Agent wants to execute:\n  %s: %s\n\nAction: %s\n\n", visible(category), visible(detail), visible(q.Action))
	if q.Why != "" {
		fmt.Fprintf(&b, "Note: %s\n\n", visible(q.Why))
	}
	b.WriteString("React with checkmark to approve or X to deny.")
	return b.String()
}

// visible writes line breaks, control characters and characters without a shape
// or with a direction of their own as escapes.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r != ' ' && !unicode.IsPrint(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// A Reply is what one person said to a question. Roles come from the channel,
// which knows who it is.
type Reply struct {
	User    string
	Roles   []string
	Approve bool
	Text    string // words of a reply, if it was one
}

// A Channel puts questions where people see them.
type Channel interface {
	// Ask shows q. The Conversation ends with ctx.
	Ask(ctx context.Context, q *Question) (Conversation, error)
}

// A Conversation is a question that people are looking at.
type Conversation interface {
	// Next waits for the next reply, from whomever.
	Next(ctx context.Context) (Reply, error)
	// Turn tells somebody that their reply does not count, and why, if it can.
	Turn(ctx context.Context, r *Reply, why string)
	// Close shows how it ended.
	Close(ctx context.Context, a Answer) error
}

// An Answer is how a confirmation ended. The zero Answer is a denial.
type Answer struct {
	Approved bool
	By       string // who answered; "" is nobody
	Detail   string // "User denied", "Timed out after 1m0s", what went wrong
	// Err is what went wrong while asking, if anything did.
	Err error
}

// A Confirmer asks people, one question at a time per caller.
type Confirmer struct {
	// Channel is where questions go; nil denies.
	Channel Channel
	// Timeout is how long a question waits; zero is DefaultTimeout.
	Timeout time.Duration
	// Approvers are the roles that may answer. None: the user who started the
	// session, and administrators.
	Approvers []string
}

// NewConfirmer returns the Confirmer that s describes.
func (s *Settings) NewConfirmer(c Channel) *Confirmer {
	return &Confirmer{Channel: c, Timeout: s.Timeout, Approvers: s.Approvers}
}

// closing is how long a channel may take to show the end of a question.
const closing = 5 * time.Second

// errTime ends a question that nobody answered.
var errTime = errors.New("nobody answered in time")

// Confirm puts q to the channel and waits for the first answer of somebody who
// may give one. Silence, an error and a panic deny.
func (c *Confirmer) Confirm(ctx context.Context, q Question) (a Answer) {
	if c == nil || c.Channel == nil {
		return Answer{Detail: "Permission requires approval (no channel)"}
	}
	if q.Timeout = c.Timeout; q.Timeout <= 0 {
		q.Timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeoutCause(ctx, q.Timeout, errTime)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			a = Answer{Detail: "asking failed", Err: fmt.Errorf("panic: %v", r)}
		}
	}()
	conv, err := c.Channel.Ask(limited, &q)
	if err != nil {
		return c.failed(limited, &q, err)
	}
	if conv == nil {
		return Answer{Detail: "asking failed", Err: errors.New("the channel shows no question")}
	}
	a = c.wait(limited, &q, conv)
	last, done := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer done()
	if err := conv.Close(last, a); err != nil && a.Err == nil && !a.Approved {
		a.Err = err
	}
	return a
}

// wait takes replies until one counts.
func (c *Confirmer) wait(ctx context.Context, q *Question, conv Conversation) Answer {
	for {
		r, err := conv.Next(ctx)
		if err != nil || ctx.Err() != nil {
			return c.failed(ctx, q, err)
		}
		if why := c.unfit(q, &r); why != "" {
			conv.Turn(ctx, &r, why)
			continue
		}
		if r.Approve {
			return Answer{Approved: true, By: r.User}
		}
		return Answer{By: r.User, Detail: "User denied"}
	}
}

// failed is the answer of a question that ended without one.
func (c *Confirmer) failed(ctx context.Context, q *Question, err error) Answer {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTime):
		return Answer{Detail: fmt.Sprintf("Timed out after %s", q.Timeout)}
	case cause != nil:
		return Answer{Detail: "cancelled", Err: cause}
	}
	return Answer{Detail: "asking failed", Err: err}
}

// unfit says why a reply does not count, "" if it does.
func (c *Confirmer) unfit(q *Question, r *Reply) string {
	if r.User == "" {
		return "nobody knows who this is"
	}
	if len(c.Approvers) == 0 {
		if r.User == q.User || slices.Contains(r.Roles, RoleAdministrator) {
			return ""
		}
		return "only whoever started this session, or an administrator, can answer"
	}
	for _, role := range c.Approvers {
		if slices.Contains(r.Roles, role) {
			return ""
		}
	}
	return "to answer takes the role " + strings.Join(c.Approvers, " or ")
}
