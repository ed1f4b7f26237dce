package chorus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/display"
)

// A Question is a confirmation as it is put to people.
type Question struct {
	Agent   string
	Action  string // the action string
	Channel string // where the session runs
	User    string // that started it
	// Why is the policy's reason, where the document's prompt does not say it.
	Why string
	// Timeout is how long there is to answer.
	Timeout time.Duration
}

// Text returns the document's prompt. Characters that could make the action
// look like another one are shown by their numbers.
func (q *Question) Text() string {
	category, detail, _ := strings.Cut(strings.TrimPrefix(q.Action, "tool:"), ":")
	var b strings.Builder
	fmt.Fprintf(&b, "Agent wants to execute:\n  %s: %s\n\nAction: %s\n\n", display.Visible(category),
		display.Visible(detail), display.Visible(q.Action))
	if q.Why != "" {
		fmt.Fprintf(&b, "Note: %s\n\n", display.Visible(q.Why))
	}
	b.WriteString("React with checkmark to approve or X to deny.")
	return b.String()
}

// A Reply is one person's answer to a question. Roles come from the channel,
// which knows the person.
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
	// Turn tells a person why their reply does not count, if the channel can.
	Turn(ctx context.Context, r *Reply, why string)
	// Close shows how it ended.
	Close(ctx context.Context, a Answer) error
}

// An Answer is how a confirmation ended. The zero Answer is a denial.
type Answer struct {
	Approved bool
	By       string // that answered; "" is none
	Detail   string // "User denied", "Timed out after 1m0s", an error
	// Err is the error that ended the question, if one did.
	Err error
}

// closing is how long a channel may take to show the end of a question.
const closing = 5 * time.Second

// confirm shows a request in the channel and gives the replies to the broker
// until one counts, there or elsewhere. Silence, an error and a panic deny.
func (h *Host) confirm(ctx context.Context, req *approval.Request, q *Question) Answer {
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	during, end := h.gate.Broker().Follow(asking, req.ID)
	conv, failed := h.talk(during, req.ID, q)
	if failed.Detail != "" {
		giveUp() // takes the request back
	}
	a := ended(end(), failed, q, context.Cause(ctx))
	if conv == nil {
		return a
	}
	last, done := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer done()
	if err := guarded(func() error { return conv.Close(last, a) }); err != nil && a.Err == nil && !a.Approved {
		a.Err = err
	}
	return a
}

// talk asks in the channel and passes the replies on until ctx ends. An Answer
// with a Detail says why there will be none.
func (h *Host) talk(ctx context.Context, id string, q *Question) (conv Conversation, failed Answer) {
	if h.opts.Channel == nil {
		return nil, Answer{Detail: "Permission requires approval (no channel)"}
	}
	err := guarded(func() (err error) {
		if conv, err = h.opts.Channel.Ask(ctx, q); err == nil && conv == nil {
			err = errors.New("the channel shows no question")
		}
		if err == nil {
			err = h.replies(ctx, id, conv)
		}
		return err
	})
	if err != nil {
		return conv, Answer{Detail: "asking failed", Err: err}
	}
	return conv, Answer{}
}

// replies gives the replies of a conversation to the broker until one counts, or ctx
// ends.
func (h *Host) replies(ctx context.Context, id string, conv Conversation) error {
	for {
		r, err := conv.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = h.gate.Broker().Answer(ctx, id, approval.Answer{By: r.User, Roles: r.Roles, Allow: r.Approve, Words: r.Text})
		if err == nil || errors.Is(err, approval.ErrSettled) {
			return nil
		}
		conv.Turn(ctx, &r, h.unfit(&r))
	}
}

// ended says in the document's words how a request ended.
func ended(r *approval.Request, failed Answer, q *Question, cause error) Answer {
	switch {
	case r == nil:
		return Answer{Detail: "asking failed", Err: errors.New("the request is lost")}
	case r.State == approval.Expired:
		return Answer{Detail: fmt.Sprintf("Timed out after %s", q.Timeout)}
	case r.State == approval.Canceled && failed.Detail != "":
		return failed
	case r.State == approval.Canceled:
		return Answer{Detail: "cancelled", Err: cause}
	}
	by := ""
	if n := len(r.Answers); n > 0 {
		by = r.Answers[n-1].By
	}
	if r.State == approval.Approved {
		return Answer{Approved: true, By: by}
	}
	return Answer{By: by, Detail: userDenied}
}

// unfit says why a reply does not count.
func (h *Host) unfit(r *Reply) string {
	switch {
	case r.User == "":
		return "nobody knows who this is"
	case len(h.opts.Approvers) == 0:
		return "only whoever started this session, or an administrator, can answer"
	}
	return "to answer takes the role " + strings.Join(h.opts.Approvers, " or ")
}
