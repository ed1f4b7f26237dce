package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/desk"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/internal/study/explain"
	"github.com/obstat/obstat/store"
)

// A runAsker puts things that a confined command did not get to people: `obstat ask` and the console show them.
type runAsker struct {
	gate *gate.Gate
	call *obstat.Call
	mu   sync.Mutex
	said map[string]bool // answers by path, so that a file is asked about once
}

// during is how long a person may take while a command waits.
const during = 10 * time.Minute

// asks lets the options of a gate ask people by the store of this machine.
func (o *runOptions) asks(opts *gate.Options, state string) (closeStore func()) {
	db, opened := statedir.Store(state), store.Store(nil)
	opts.Open = func(ctx context.Context) (gate.Store, error) {
		s, err := store.Open(context.WithoutCancel(ctx), db)
		if err == nil {
			opened = s
		}
		return s, err
	}
	opts.Sessions = gate.SessionDir(statedir.Sessions(state))
	opts.Approval = approval.Options{Timeout: during}
	opts.Waits = func() (time.Duration, string) {
		if !desk.Taken(db) {
			return 0, "nobody is there to ask: `obstat ask` is not open"
		}
		return during, ""
	}
	return func() {
		if opened != nil {
			_ = opened.Close()
		}
	}
}

// file asks about a file that the command opens, and that is kept from it, while the command waits. The policy is
// asked first: a file that it lets the agent read is given, and one that it denies is not.
func (a *runAsker) file(ctx context.Context, path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if yes, ok := a.said[path]; ok {
		return yes
	}
	r, err := a.gate.Authorize(ctx, a.touching(obstat.FaceRead, path), &gate.Terms{Ask: gate.Wait, For: a.asker()})
	if a.said == nil {
		a.said = map[string]bool{}
	}
	a.said[path] = err == nil && r.Verdict == obstat.Allow
	return a.said[path]
}

// asker names the command for people.
func (a *runAsker) asker() string {
	return fmt.Sprintf("`%s`, which runs confined, wants it: ", clip(explain.TextOf(a.call), maxAsker))
}

// maxAsker bounds the text of a command in front of a reason.
const maxAsker = 60

// touching is a call of the same agent that reads or writes a file, or fetches an address.
func (a *runAsker) touching(face, target string) *obstat.Call {
	tool, field := "Read", "file_path"
	switch face {
	case obstat.FaceWrite:
		tool = "Write"
	case obstat.FaceConnect:
		tool, field, target = "WebFetch", "url", "https://"+target+"/"
	}
	c := *a.call
	c.Tool = tool
	c.Input, _ = json.Marshal(map[string]string{field: target}) // a text
	return &c
}

// maxAgain bounds the requests that a run leaves behind.
const maxAgain = 3

// again puts the first things that a command did not get, and that a rule wants asked, to people: whoever allows one
// with a rule has it count when the command is run again. It returns the requests.
func (a *runAsker) again(ctx context.Context, told []confined.Refused) (out []string) {
	for i := range told {
		if len(out) == maxAgain || told[i].Kind == obstat.FaceDelete || told[i].Kind == obstat.FaceWrite {
			continue // an edit is approved with its content
		}
		c := a.touching(told[i].Kind, told[i].What)
		r, err := a.gate.Authorize(ctx, c, &gate.Terms{Ask: gate.Put, TakeUp: true, For: a.asker()})
		if err == nil && r.Verdict == obstat.Ask && r.Request != nil {
			out = append(out, r.Request.ID)
		}
	}
	return out
}

// offerAgain says that people were asked about things that the command did not get.
func (o *runOptions) offerAgain(requests []string) {
	if len(requests) > 0 {
		fmt.Fprintf(o.IO.Err, "obstat: a person is asked about it (obstat ask: %s); allowed with a rule, it counts when the "+
			"command is run again\n", plural(len(requests), "request"))
	}
}

// deskTaken tells whether a person has `obstat ask` open.
func deskTaken(state string) bool {
	_, err := os.Stat(statedir.Store(state))
	return err == nil && desk.Taken(statedir.Store(state))
}
