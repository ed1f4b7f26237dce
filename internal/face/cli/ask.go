package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/study/explain"
)

// askOptions are the options of obstat ask.
type askOptions struct {
	*Factory
	Store storeOptions
	List  bool     `flag:"list"`
	As    string   `flag:"as"`
	Roles []string `flag:"role"`
}

func newAsk(f *Factory) *cobra.Command {
	o := &askOptions{Factory: f}
	return command("ask", some(0, 0), o, untilInterrupt(o.run))
}

// requestsJSON is the output of obstat ask --list --json.
type requestsJSON struct {
	V        int                 `json:"v"`
	Requests []*approval.Request `json:"requests"`
}

func (o *askOptions) run(ctx context.Context, _ []string) error {
	s := o.IO
	if !o.List {
		if _, err := o.person(o.Store.stored()); err != nil {
			return err
		}
	}
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

// readLines sends the lines of r, and closes the channel at its end.
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

// A seat is a terminal at which a person answers requests.
type seat struct {
	o      *askOptions
	broker *approval.Broker
	lines  <-chan string
	left   map[string]bool // requests that were left to others
	chosen string          // the request that is shown; "" is the oldest
	said   string          // what the last answer did, for the next screen
	below  bool            // a request is written below what the terminal shows, not on a clean screen
}

// lookEvery is how often the store is asked for new requests.
const lookEvery = 300 * time.Millisecond

// serve shows one request after the other until its person leaves.
func (d *seat) serve(ctx context.Context) error {
	out := d.o.IO.Out
	hello := fmt.Sprintf("answering as %s; waiting for agents to ask, ctrl-C ends", visible(d.o.As))
	fmt.Fprintln(out, strings.Join(wrap(hello, d.o.IO.width()), "\n"))
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	waiting := true
	for {
		v, err := d.next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case v != nil:
			waiting = false
			if err := d.settle(ctx, v); err != nil {
				return endOf(err)
			}
			continue
		case !waiting && d.said != "":
			fmt.Fprintln(out, "nothing more is asked")
			waiting, d.said = true, ""
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

// settle shows a request and takes answers until one counts, or another request is chosen.
func (d *seat) settle(ctx context.Context, v *shown) error {
	out, r := d.o.IO.Out, v.request()
	d.draw(v)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return ctx.Err()
		case <-tick.C:
			if d.over(ctx, r) {
				d.say("\n", "somebody else answered it, its agent is gone, or its time is over")
				return nil
			}
			d.news(ctx, v)
		case line, ok := <-d.lines:
			if !ok {
				return errQuit
			}
			to, err := choose(line, v.pending, v.at)
			switch {
			case errors.Is(err, errChoose) && to == v.at: // it is shown
			case errors.Is(err, errChoose):
				d.chosen = v.pending[to].ID
				return nil
			case err != nil:
				fmt.Fprintln(out, err)
			default:
				if done, err := d.answer(ctx, r, line); done || err != nil {
					return err
				}
			}
			fmt.Fprint(out, "> ")
		}
	}
}

// over tells whether a request ended without an answer from here.
func (d *seat) over(ctx context.Context, r *approval.Request) bool {
	pending, err := d.broker.Pending(ctx)
	return err == nil && !slices.ContainsFunc(pending, func(p *approval.Request) bool { return p.ID == r.ID })
}

// say writes what became of a request, and keeps it for the next screen, which starts clean.
func (d *seat) say(lead, words string) {
	fmt.Fprintln(d.o.IO.Out, lead+words)
	d.said = words
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
	case errors.Is(err, errTry):
		d.o.tryRequest(ctx, r)
		return false, nil
	case errors.Is(err, errQuit):
		return true, err
	case errors.Is(err, errLeave):
		d.left[r.ID] = true
		return true, nil
	case err == nil:
		who, no := d.o.person(d.o.Store.stored())
		if no != nil {
			return true, no // its terminal was closed
		}
		a.By, a.Roles, a.From = d.o.As, d.o.Roles, who.String()
		var now *approval.Request
		if now, err = d.broker.Answer(ctx, r.ID, a); err == nil {
			d.say("", answerWords(now, &a))
			return true, nil
		}
	}
	fmt.Fprintln(out, visible(err.Error()))
	d.left[r.ID] = errors.Is(err, approval.ErrNotYou)
	return d.left[r.ID] || errors.Is(err, approval.ErrSettled), nil
}

// answerWords confirms an answer: "allowed, this once".
func answerWords(r *approval.Request, a *approval.Answer) string {
	switch {
	case r.State == approval.Pending:
		return fmt.Sprintf("noted: %d of %d have approved", len(r.Answers), r.Who.Needed)
	case !a.Allow:
		return "refused"
	case a.Scope == approval.Always && a.Rule != nil:
		return "allowed; the rule goes to " + fileWords(r, a) +
			" if it settles this call, and nothing that has nothing to do with it"
	case a.Scope == approval.Always:
		return "allowed; the rule goes to " + fileWords(r, a)
	case a.Input != nil:
		return "allowed with the other arguments, unless the policy denies those"
	case a.Scope == approval.Once:
		return "allowed, this once"
	}
	return "allowed for the " + string(a.Scope)
}

// fileWords names the file that gets the rule of an answer.
func fileWords(r *approval.Request, a *approval.Answer) string {
	if a.Offer > 0 && a.Offer <= len(r.Offers) && r.Offers[a.Offer-1].File != "" {
		return visible(shortPath(r.Offers[a.Offer-1].File, r.Call.Dir))
	}
	return "the policy's file"
}

// askHelp says which lines are answers.
const askHelp = `y            yes, this once
s [N]        yes, for this session; with N, whatever offer N covers
g, w, u [N]  the same for this agent, this workspace, this user
s 30m        ... for half an hour; also with N: s 1 30m
a [N]        always: offer N is written to the policy's own file
r N PATTERN  always, with another pattern in offer N's rule
e TEXT       yes, but with TEXT as its command (or path)
e {...}      yes, but with this JSON as its arguments
n [WORDS]    no; the words are told to the model
x [WORDS]    no, and no to all else this session is asking
t            run it to see what it changes; nothing of it counts
l            leave it to somebody else, for now
2, +, -      show the second request of the list, the next, the one before
q            end; what is asked stays asked`

// The things a line can ask for that are no answer.
var (
	errHelp  = errors.New("help")
	errLeave = errors.New("leave")
	errQuit  = errors.New("quit")
	errTry   = errors.New("try")
)

// parseAnswer reads a line that was typed below a request: `s 1 30m`.
func parseAnswer(line string, r *approval.Request, now time.Time) (approval.Answer, error) {
	key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	a := approval.Answer{Allow: true}
	scopes := map[string]approval.Scope{"s": approval.Session, "g": approval.Agent, "w": approval.Workspace,
		"u": approval.User}
	switch key {
	case "y", "yes":
		a.Scope = approval.Once
		if rest != "" {
			return a, fmt.Errorf("%q means nothing here", rest)
		}
		return a, nil
	case "s", "g", "w", "u":
		a.Scope = scopes[key]
		return a, scoped(&a, rest, r, now)
	case "a", "always":
		a.Scope = approval.Always
		return a, always(&a, rest, r)
	case "r":
		a.Scope = approval.Always
		return a, rewritten(&a, rest, r)
	case "e":
		a.Scope = approval.Once
		return a, edited(&a, rest, r)
	case "n", "no", "x":
		return approval.Answer{Words: rest, All: key == "x"}, nil
	case "t":
		return a, errTry
	case "l":
		return a, errLeave
	case "q":
		return a, errQuit
	}
	return a, errHelp
}

// offer reads the number of an offer.
func offer(word string, r *approval.Request) (int, bool) {
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= 1 && n <= len(r.Offers)
}

// scoped reads the number of an offer and a time, in any order.
func scoped(a *approval.Answer, rest string, r *approval.Request, now time.Time) error {
	for _, word := range strings.Fields(rest) {
		n, ok := offer(word, r)
		d, err := time.ParseDuration(word)
		switch {
		case ok:
			a.Offer = n
		case n != 0 || word == "0":
			return fmt.Errorf("there is no offer %s", word)
		case err != nil || d <= 0:
			return fmt.Errorf("%q is neither the number of an offer nor a time such as 30m", word)
		default:
			a.Until = now.Add(d)
		}
	}
	return nil
}

func always(a *approval.Answer, rest string, r *approval.Request) error {
	if len(r.Offers) == 0 {
		return errors.New("nothing is on offer that would settle calls like this one; s is for the session")
	}
	if rest == "" && len(r.Offers) == 1 {
		rest = "1"
	}
	var ok bool
	if a.Offer, ok = offer(rest, r); !ok {
		return fmt.Errorf("say which offer: a 1 to a %d", len(r.Offers))
	}
	return kept(r, a.Offer)
}

// kept says why offer n cannot be accepted for good, if no file would get its rule.
func kept(r *approval.Request, n int) error {
	if why := r.Offers[n-1].NoFile; why != "" {
		return fmt.Errorf("it cannot be written to the policy's file: %s; s %d allows it for the session", why, n)
	}
	return nil
}

// rewritten puts another pattern into the rule of an offer.
func rewritten(a *approval.Answer, rest string, r *approval.Request) error {
	number, text, _ := strings.Cut(rest, " ")
	n, ok := offer(number, r)
	if text = strings.TrimSpace(text); !ok || text == "" {
		return errors.New("say which offer and the pattern: r 1 npm run *")
	}
	if err := kept(r, n); err != nil {
		return err
	}
	a.Offer = n
	var err error
	a.Rule, err = r.Offers[n-1].WithPattern(text)
	return err
}

// edited reads other arguments: JSON, or the text of the field that matters.
func edited(a *approval.Answer, rest string, r *approval.Request) error {
	if rest == "" {
		return errors.New("say what to run in its place: e make test")
	}
	if strings.HasPrefix(rest, "{") {
		if !json.Valid([]byte(rest)) {
			return errors.New("that is not JSON")
		}
		a.Input = json.RawMessage(rest)
		return nil
	}
	var err error
	if a.Input, err = explain.WithText(&r.Call, rest); err != nil {
		return fmt.Errorf("%w; give all of them as JSON: e {...}", err)
	}
	return nil
}
