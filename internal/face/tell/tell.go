// Package tell tells people elsewhere that a request waits: by a signed webhook, in Slack, Teams, Discord and ntfy, and
// by mail.
//
// It owns the receivers, when each is told, the texts, and the delivery with retries. A message has a link to the
// request and nothing that answers it: people answer at the server, where they are known.
package tell

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/keep/docs"
)

// A Config is the file of --notify.
type Config struct {
	// URL is the address of the server for browsers, which links begin with.
	URL string     `json:"url"`
	To  []Receiver `json:"to"`
}

// A Receiver is one place that is told.
type Receiver struct {
	Name string `json:"name"`
	// Form is webhook, slack, teams, discord, ntfy or mail.
	Form string `json:"form"`
	// URL is where messages go: `https://hooks.slack.com/...`, or `smtp://user@mail.example:587` for mail.
	URL string `json:"url"`
	// Secret names the environment variable that has the key of a webhook's signature, the token of ntfy or the password
	// of mail.
	Secret string `json:"secret,omitempty"`
	// From and Mail are the addresses of a mail.
	From string   `json:"from,omitempty"`
	Mail []string `json:"mail,omitempty"`
	// Agents, Roles and Effects say which requests it is told of: of these agents, that these roles may answer, that would
	// do one of these things; nil is any.
	Agents  []string `json:"agents,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Effects []string `json:"effects,omitempty"`
	// After is how many seconds a request has waited by then: an escalation is a receiver that is told later.
	After int `json:"after,omitempty"`
	// Quiet are hours in which it is not told, by Zone: `22:00-07:00`.
	Quiet string `json:"quiet,omitempty"`
	Zone  string `json:"zone,omitempty"` // such as Europe/Berlin; "" is UTC
	// Reach names addresses of this machine or of its own network that may be called: `127.0.0.1`.
	Reach []string `json:"reach,omitempty"`

	secret string
	quiet  hours
}

// Check reports what is wrong with a configuration, and reads secrets from the environment.
func (c *Config) Check(getenv func(string) string) error {
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("url is the address of this server for browsers, as https://obstat.example.com, not %q", c.URL)
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	names := map[string]bool{}
	for i := range c.To {
		r := &c.To[i]
		if r.Name == "" || names[r.Name] {
			return fmt.Errorf("to[%d] needs a name of its own", i)
		}
		names[r.Name] = true
		if err := r.check(getenv); err != nil {
			return fmt.Errorf("to[%d], %s: %w", i, r.Name, err)
		}
	}
	return nil
}

func (r *Receiver) check(getenv func(string) string) error {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("url is an address, not %q", r.URL)
	}
	if form, ok := forms[r.Form]; !ok {
		return fmt.Errorf("there is no form %q; it is one of %s", r.Form, strings.Join(formNames(), ", "))
	} else if !slices.Contains(form.schemes, u.Scheme) {
		return fmt.Errorf("a %s is reached by %s, not by %q", r.Form, strings.Join(form.schemes, " or "), u.Scheme)
	}
	if r.Form == "mail" && (r.From == "" || len(r.Mail) == 0) {
		return errors.New("a mail needs from and mail")
	}
	if r.After < 0 || r.After > 86400 {
		return fmt.Errorf("after is a number of seconds up to a day, not %d", r.After)
	}
	if r.Secret != "" {
		if r.secret = getenv(r.Secret); r.secret == "" {
			return fmt.Errorf("the environment variable %s, which secret names, is not set", r.Secret)
		}
	}
	if r.Form == "webhook" && r.secret == "" {
		return errors.New("a webhook needs a secret: it tells the receiver that the message is from here")
	}
	r.quiet, err = readHours(r.Quiet, r.Zone)
	return err
}

// hours are a part of the day, in minutes; from may be larger than to.
type hours struct {
	from, to int
	zone     *time.Location
}

func readHours(text, zone string) (hours, error) {
	if text == "" {
		return hours{}, nil
	}
	at, err := time.LoadLocation(cmp.Or(zone, "UTC"))
	if err != nil {
		return hours{}, fmt.Errorf("zone: %w", err)
	}
	from, to, _ := strings.Cut(text, "-")
	a, err1 := time.Parse("15:04", strings.TrimSpace(from))
	b, err2 := time.Parse("15:04", strings.TrimSpace(to))
	if err1 != nil || err2 != nil {
		return hours{}, fmt.Errorf("quiet is as 22:00-07:00, not %q", text)
	}
	return hours{a.Hour()*60 + a.Minute(), b.Hour()*60 + b.Minute(), at}, nil
}

// hold tells whether a time falls into the hours.
func (h hours) hold(t time.Time) bool {
	if h.zone == nil {
		return false
	}
	t = t.In(h.zone)
	now := t.Hour()*60 + t.Minute()
	if h.from <= h.to {
		return now >= h.from && now < h.to
	}
	return now >= h.from || now < h.to
}

// wants tells whether a receiver is told of a request, whatever the time.
func (r *Receiver) wants(req *approval.Request) bool {
	if len(r.Agents) > 0 && !slices.Contains(r.Agents, req.Call.Agent) {
		return false
	}
	if len(r.Effects) > 0 && !slices.ContainsFunc(req.Effects,
		func(e approval.Effect) bool { return slices.Contains(r.Effects, e.Kind) }) {
		return false
	}
	may := append(slices.Clone(req.Who.Roles), req.Who.Each...)
	return len(r.Roles) == 0 || len(may) == 0 || slices.ContainsFunc(may,
		func(role string) bool { return slices.Contains(r.Roles, role) })
}

// A Teller tells receivers of requests that wait. Of several servers that share a store one tells each of them.
type Teller struct {
	conf  atomic.Pointer[Config]
	store docs.Store
	log   *slog.Logger
	now   func() time.Time
	wait  []time.Duration // between tries

	mu      sync.Mutex
	waiting map[string]*approval.Request
	told    map[string]time.Time // by receiver and request: when to look again whether it was told
	work    sync.WaitGroup

	// Sent and Failed count messages.
	Sent, Failed atomic.Int64
}

// New returns a teller for a configuration that was checked.
func New(conf *Config, store docs.Store, log *slog.Logger) *Teller {
	t := &Teller{store: store, log: log, now: time.Now,
		waiting: map[string]*approval.Request{}, told: map[string]time.Time{},
		wait: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute}}
	t.Use(conf)
	return t
}

// Use has the receivers of another configuration told from now on. A receiver that keeps its name is not told twice.
func (t *Teller) Use(conf *Config) { t.conf.Store(conf) }

// Heard keeps up with requests as they are put and end. It does not wait for anything.
func (t *Teller) Heard(r *approval.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.State == approval.Pending {
		t.waiting[r.ID] = r
		return
	}
	delete(t.waiting, r.ID)
	for _, to := range t.conf.Load().To {
		delete(t.told, to.Name+" "+r.ID)
	}
}

// Run tells receivers until ctx ends.
func (t *Teller) Run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ; n++ {
		t.look(ctx)
		if n%600 == 0 {
			t.forget(ctx)
		}
		select {
		case <-ctx.Done():
			t.work.Wait()
			return
		case <-tick.C:
		}
	}
}

// maxSingle is how many requests a receiver is told of one by one at a time; more are one message.
const maxSingle = 5

// look finds the requests that receivers are due to be told of, and tells them.
func (t *Teller) look(ctx context.Context) {
	now, conf := t.now(), t.conf.Load()
	for i := range conf.To {
		r := &conf.To[i]
		if r.quiet.hold(now) {
			continue
		}
		var due []*approval.Request
		t.mu.Lock()
		for _, req := range t.waiting {
			key := r.Name + " " + req.ID
			if !now.Before(t.told[key]) && r.wants(req) && !now.Before(req.Created.Add(time.Duration(r.After)*time.Second)) {
				due = append(due, req)
				t.told[key] = now.Add(lookAgain)
			}
		}
		t.mu.Unlock()
		due = slices.DeleteFunc(due, func(req *approval.Request) bool { return !t.first(ctx, r, req) })
		slices.SortFunc(due, func(a, b *approval.Request) int { return a.Created.Compare(b.Created) })
		if len(due) > maxSingle {
			t.deliver(ctx, r, due)
			continue
		}
		for _, req := range due {
			t.deliver(ctx, r, []*approval.Request{req})
		}
	}
}

// The kinds of documents that tellers share.
const (
	toldKind = "told"
	// UndeliveredKind is the kind of messages that could not be delivered.
	UndeliveredKind = "undelivered"
)

const (
	// lookAgain is after which time a server looks whether the one that tells of a request is still there.
	lookAgain = 10 * time.Second
	// grace is how long that one is waited for beyond the time that its next try takes.
	grace = 15 * time.Second
)

// A mark says that a receiver was told of a request, or is being told by a server that is there until Busy. Where that
// ended before the message was taken, another tells.
type mark struct {
	Until time.Time `json:"until"`
	Busy  time.Time `json:"busy,omitzero"`
}

func markID(r *Receiver, req *approval.Request) string {
	sum := sha256.Sum256([]byte(r.Name + "\x00" + req.ID))
	return hex.EncodeToString(sum[:16])
}

// errTold says that a mark is another's, or that the receiver was told.
var errTold = errors.New("it is told")

// first tells whether this process is the one that tells a receiver of a request. Where the store cannot be asked it
// is: told twice is better than not at all.
func (t *Teller) first(ctx context.Context, r *Receiver, req *approval.Request) bool {
	now, done := t.now(), false
	_, err := docs.Change(ctx, t.store, toldKind, markID(r, req), func(m *mark) error {
		done = !m.Until.IsZero() && m.Busy.IsZero()
		if done || now.Before(m.Busy) {
			return errTold
		}
		*m = mark{req.Expires.Add(time.Hour), now.Add(sendLimit + grace)}
		return nil
	})
	if done {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.told[r.Name+" "+req.ID] = req.Expires.Add(time.Hour)
	}
	return !errors.Is(err, errTold)
}

// busy says until when this process is at work on telling a receiver; the zero time says that it is done. Where the
// store cannot be asked, the receiver may be told again.
func (t *Teller) busy(ctx context.Context, r *Receiver, list []*approval.Request, until time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, req := range list {
		_, _ = docs.Change(ctx, t.store, toldKind, markID(r, req), func(m *mark) error {
			*m = mark{req.Expires.Add(time.Hour), until}
			return nil
		})
		t.mu.Lock()
		if t.waiting[req.ID] != nil {
			t.told[r.Name+" "+req.ID] = cmp.Or(until, req.Expires.Add(time.Hour)).Add(lookAgain)
		}
		t.mu.Unlock()
	}
}

// forget deletes the marks of requests that are long over.
func (t *Teller) forget(ctx context.Context) {
	for _, kind := range []string{toldKind, UndeliveredKind} {
		list, err := t.store.Docs(ctx, kind)
		if err != nil {
			return
		}
		for _, d := range list {
			m, version, err := docs.Get[mark](ctx, t.store, kind, d.ID)
			if err == nil && t.now().After(m.Until) {
				_ = t.store.PutDoc(ctx, &docs.Doc{Kind: kind, ID: d.ID, Version: version}) // another may have
			}
		}
	}
}

// An Undelivered is a message that no try has delivered.
type Undelivered struct {
	To       string    `json:"to"`
	Requests []string  `json:"requests"`
	Error    string    `json:"error"`
	Time     time.Time `json:"time"`
	Until    time.Time `json:"until"` // it is listed until then
}

// deliver sends a message, again after a while where that fails, as long as a request of it waits. Where the server
// ends meanwhile, another one or the next start goes on.
func (t *Teller) deliver(ctx context.Context, r *Receiver, list []*approval.Request) {
	t.work.Go(func() {
		var err error
		for try := 0; ; try++ {
			if err = r.send(ctx, t.conf.Load().URL, list, t.now()); err == nil {
				t.Sent.Add(1)
				t.busy(ctx, r, list, time.Time{})
				return
			}
			if ctx.Err() != nil {
				t.busy(ctx, r, list, t.now())
				return
			}
			if try >= len(t.wait) || !t.anyWaits(list) {
				break
			}
			t.busy(ctx, r, list, t.now().Add(t.wait[try]+sendLimit+grace))
			select {
			case <-ctx.Done():
				t.busy(ctx, r, list, t.now())
				return
			case <-time.After(t.wait[try]):
			}
		}
		t.Failed.Add(1)
		t.log.Warn("a notification could not be delivered", "to", r.Name, "error", err)
		t.bury(ctx, r, list, err)
		t.busy(ctx, r, list, time.Time{})
	})
}

func (t *Teller) anyWaits(list []*approval.Request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(list, func(r *approval.Request) bool { return t.waiting[r.ID] != nil })
}

// maxUndelivered bounds the list of messages that were not delivered.
const maxUndelivered = 500

// bury lists a message that was not delivered.
func (t *Teller) bury(ctx context.Context, r *Receiver, list []*approval.Request, err error) {
	u := Undelivered{To: r.Name, Error: err.Error(), Time: t.now().UTC(), Until: t.now().Add(7 * 24 * time.Hour)}
	for _, req := range list {
		u.Requests = append(u.Requests, req.ID)
	}
	if all, err := t.store.Docs(ctx, UndeliveredKind); err != nil || len(all) >= maxUndelivered {
		return
	}
	_ = docs.Put(ctx, t.store, UndeliveredKind, approval.NewID("msg_"), 0, u) // it is in the log as well
}
