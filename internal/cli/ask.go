package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
)

// askOptions are the options of obstat ask.
type askOptions struct {
	*Factory
	Store storeOptions
	List  bool
	As    string
	Roles []string
}

func newAsk(f *Factory) *cobra.Command {
	o := &askOptions{Factory: f}
	cmd := command("ask", some(0, 0), untilInterrupt(func(ctx context.Context, _ []string) error { return askRun(ctx, o) }))
	o.Store.flags(cmd)
	cmd.Flags().BoolVar(&o.List, "list", false, "show what is being asked, and end")
	cmd.Flags().StringVar(&o.As, "as", "", "your `name` (default: the user's)")
	cmd.Flags().StringArrayVar(&o.Roles, "role", nil, "`role` that you have")
	return cmd
}

// requestsJSON is what --list --json prints.
type requestsJSON struct {
	V        int                 `json:"v"`
	Requests []*approval.Request `json:"requests"`
}

func askRun(ctx context.Context, o *askOptions) error {
	s := o.IO
	if !o.List && (!s.InTTY || o.jsonFlag) {
		return usagef("requests are answered by people: standard input is not a terminal; --list shows what is being asked")
	}
	open := o.Store.make
	if o.List {
		open = o.Store.open
	}
	store, err := open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	broker := approval.New(store, &approval.Options{Check: gate.CheckAnswer})
	if o.List {
		return o.list(ctx, broker)
	}
	if o.As == "" {
		o.As = userName()
	}
	leave, err := o.Store.sit()
	if err != nil {
		return err
	}
	defer leave()
	d := &seat{o: o, broker: broker, lines: readLines(s.In), left: map[string]bool{}}
	return d.serve(ctx)
}

func (o *askOptions) list(ctx context.Context, broker *approval.Broker) error {
	s := o.IO
	pending, err := broker.Pending(ctx)
	if err != nil {
		return err
	}
	if o.jsonFlag {
		return writeJSON(s.Out, requestsJSON{1, append([]*approval.Request{}, pending...)})
	}
	if len(pending) == 0 {
		fmt.Fprintln(s.Out, "nothing is being asked")
	}
	for i, r := range pending {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		fmt.Fprint(s.Out, newScreen(s).request(r, o.World, time.Now()))
	}
	return nil
}

// readLines hands over what is typed, line by line, until there is no more.
func readLines(r io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		in := bufio.NewScanner(r)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			out <- in.Text()
		}
	}()
	return out
}

// A seat is where somebody sits and answers.
type seat struct {
	o      *askOptions
	broker *approval.Broker
	lines  <-chan string
	left   map[string]bool // requests that were left to others
}

// lookEvery is how often the store is asked for new requests.
const lookEvery = 300 * time.Millisecond

// serve shows one request after the other until its person leaves.
func (d *seat) serve(ctx context.Context) error {
	out := d.o.IO.Out
	fmt.Fprintf(out, "answering as %s; waiting for agents to ask, ctrl-C ends\n", visible(d.o.As))
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		r, err := d.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case r != nil:
			if err := d.settle(ctx, r); err != nil {
				return endOf(err)
			}
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case line, ok := <-d.lines:
			if !ok || line == "q" {
				return nil
			}
		}
	}
}

func endOf(err error) error {
	if errors.Is(err, errQuit) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// next returns the oldest request that was not left to others.
func (d *seat) next(ctx context.Context) (*approval.Request, error) {
	pending, err := d.broker.Pending(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range pending {
		if !d.left[r.ID] {
			return r, nil
		}
	}
	return nil, nil
}

// settle shows a request and takes answers until one counts.
func (d *seat) settle(ctx context.Context, r *approval.Request) error {
	f := d.o.Factory
	out := f.IO.Out
	fmt.Fprintf(out, "\n%s\n%s\n", newScreen(f.IO).request(r, f.World, time.Now()), f.IO.paint(bold, askKeys))
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	fmt.Fprint(out, "> ")
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return ctx.Err()
		case <-tick.C:
			if over := d.over(ctx, r); over != "" {
				fmt.Fprintln(out, "\n"+over)
				return nil
			}
		case line, ok := <-d.lines:
			if !ok {
				return errQuit
			}
			if done, err := d.answer(ctx, r, line); done || err != nil {
				return err
			}
			fmt.Fprint(out, "> ")
		}
	}
}

// over says how a request ended without us, "" if it has not.
func (d *seat) over(ctx context.Context, r *approval.Request) string {
	pending, err := d.broker.Pending(ctx)
	if err != nil {
		return ""
	}
	for _, p := range pending {
		if p.ID == r.ID {
			return ""
		}
	}
	return "somebody else answered it, or its time is over"
}

// answer takes a line that was typed. An answer that does not count is said,
// and the request stays.
func (d *seat) answer(ctx context.Context, r *approval.Request, line string) (done bool, err error) {
	out := d.o.IO.Out
	a, err := parseAnswer(line, r, time.Now())
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprintln(out, askHelp)
		return false, nil
	case errors.Is(err, errQuit):
		return true, err
	case errors.Is(err, errLeave):
		d.left[r.ID] = true
		return true, nil
	case err != nil:
		fmt.Fprintln(out, visible(err.Error()))
		return false, nil
	}
	a.By, a.Roles = d.o.As, d.o.Roles
	now, err := d.broker.Answer(ctx, r.ID, a)
	switch {
	case err == nil:
		fmt.Fprintln(out, answerWords(now, &a))
		return true, nil
	case errors.Is(err, approval.ErrNotYou):
		d.left[r.ID] = true
		fmt.Fprintln(out, visible(err.Error()))
		return true, nil
	case errors.Is(err, approval.ErrSettled):
		fmt.Fprintln(out, visible(err.Error()))
		return true, nil
	}
	fmt.Fprintln(out, visible(err.Error()))
	return false, nil
}

// answerWords says what an answer did.
func answerWords(r *approval.Request, a *approval.Answer) string {
	switch {
	case r.State == approval.Pending:
		return fmt.Sprintf("noted: %d of %d have approved", len(r.Answers), r.Who.Needed)
	case !a.Allow:
		return "refused"
	case a.Scope == approval.Always && a.Rule != nil:
		return "allowed; the rule goes to the policy's file if it settles this call, and nothing that has nothing to do with it"
	case a.Scope == approval.Always:
		return "allowed; the rule goes to the policy's file"
	case a.Input != nil:
		return "allowed with the other arguments, unless the policy denies those"
	case a.Scope == approval.Once:
		return "allowed, this once"
	}
	return "allowed for the " + string(a.Scope)
}
