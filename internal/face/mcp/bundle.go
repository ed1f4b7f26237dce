package mcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/format/jsonx"
)

// A Bundle is several guarded servers that a client sees as one. Their tools and prompts
// have the server's name in front, `files__read_file`, so that two servers may have a tool
// of the same name; rules have the same names as for the server by itself.
type Bundle struct {
	Members []Member
	Version string // of obstat, for the client
	Log     io.Writer
}

// A Member is one server of a bundle: a process, or one at an address.
type Member struct {
	Guard   *Guard
	Process *Process
	Remote  *Remote
}

// between stands between the name of a server and that of its tool.
const between = "__"

// A crowd is one client and the servers of a bundle.
type crowd struct {
	*Bundle
	out     *sink
	client  reader
	members []*member

	mu sync.Mutex
	// gathers are requests that every server answers, by the client's id; routes says
	// which server has another request; asks which has asked the client with an id.
	gathers map[string]*gather
	routes  map[string]*member
	asks    map[string]back
	uris    map[string]*member // of resources, as they were listed
	asked   int
}

type member struct {
	*connection
	name string
	s    *session
}

// back says whose request the client answers.
type back struct {
	to *member
	id string
}

// Serve relays between a client on in and out and the servers, until the client ends or
// all servers have.
func (b *Bundle) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return b.serve(ctx, Caller{}, in, out)
}

func (b *Bundle) serve(ctx context.Context, who Caller, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &crowd{Bundle: b, out: &sink{w: out}, gathers: map[string]*gather{}, routes: map[string]*member{},
		asks: map[string]back{}, uris: map[string]*member{}}
	c.client.fold = 3
	for i := range b.Members {
		if m, err := c.join(ctx, &b.Members[i], who); err == nil {
			c.members = append(c.members, m)
		} else {
			b.Members[i].Guard.log("it is left out: " + err.Error())
		}
	}
	if len(c.members) == 0 {
		return errors.New("none of the servers can be started")
	}
	defer func() {
		var all sync.WaitGroup
		for _, m := range c.members {
			all.Go(m.end)
		}
		all.Wait()
	}()
	left, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_ = each(in, func(msg []byte) error { return c.fromClient(ctx, msg) }, c.refuse)
	}()
	go func() {
		defer close(ended)
		for _, m := range c.members {
			<-m.ended
		}
	}()
	select {
	case <-left:
		for _, m := range c.members {
			m.s.drained(m.ended)
		}
		return nil
	case <-ended:
		return errors.New("all servers have ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join starts one server.
func (c *crowd) join(ctx context.Context, from *Member, who Caller) (*member, error) {
	m := &member{name: from.Guard.Name}
	m.s = from.Guard.session(func(_ string, msg []byte) error { return c.fromMember(m, msg) }, nil)
	m.s.id = cmp.Or(from.Guard.Session, "mcp-"+approval.NewID(""))
	m.s.by(who)
	var err error
	m.connection, err = m.s.connect(ctx, from.Process, from.Remote, who)
	return m, err
}

// refuse answers a message that cannot be read.
func (c *crowd) refuse(err error) error {
	var e *envelopeError
	if !errors.As(err, &e) || e.id == "" {
		c.log("a message of the client's was refused: " + err.Error())
	}
	if e == nil {
		return nil
	}
	return c.fail(cmp.Or(e.id, "null"), e.code, "the message is refused: "+e.msg)
}

func (c *crowd) log(text string) {
	if c.Log != nil {
		fmt.Fprintf(c.Log, "obstat mcp: %s\n", visible(text))
	}
}

func (c *crowd) fail(id string, code int, why string) error {
	return c.out.write(failure(id, code, "obstat: "+why, nil))
}

// fromClient takes one message of the client's to the server that it is for.
func (c *crowd) fromClient(ctx context.Context, raw []byte) error {
	f, err := c.client.read(raw)
	switch {
	case err != nil:
		return c.refuse(err)
	case f.kind == response:
		c.mu.Lock()
		to := c.asks[f.id]
		delete(c.asks, f.id)
		c.mu.Unlock()
		if to.to == nil {
			c.log("a response of the client's was dropped: nothing was asked with the id " + f.id)
			return nil
		}
		_ = to.to.s.fromClient(ctx, put(f.raw, f.idAt, to.id))
		return nil
	case f.kind == notification:
		c.notify(ctx, f)
		return nil
	case f.method == "ping":
		return c.out.write(reply(f.id, obj()))
	case merges[f.method]:
		return c.gather(ctx, f)
	}
	m, raw, why := c.route(f)
	if m == nil {
		return c.fail(f.id, codeParams, why)
	}
	if !c.begin(f.id, m, nil) {
		return c.fail(f.id, codeRequest, "a request with this id is under way")
	}
	_ = m.s.fromClient(ctx, raw) // an error is answered
	return nil
}

// begin notes which server has a request, or that all of them do; false where one with the
// id is under way.
func (c *crowd) begin(id string, m *member, g *gather) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.routes[id] != nil || c.gathers[id] != nil {
		return false
	}
	if m != nil {
		c.routes[id] = m
	} else {
		c.gathers[id] = g
	}
	return true
}

// notify passes a notification on: a withdrawal to the server that works on the request, any
// other to all.
func (c *crowd) notify(ctx context.Context, f *frame) {
	c.mu.Lock()
	only := c.routes[f.cancels]
	c.mu.Unlock()
	for _, m := range c.members {
		if f.cancels == "" || m == only {
			_ = m.s.fromClient(ctx, bytes.Clone(f.raw))
		}
	}
}

// put returns a message with other bytes in a place.
func put(raw []byte, at span, text string) []byte {
	return bytes.Join([][]byte{raw[:at.start], []byte(text), raw[at.end:]}, nil)
}

// route returns the server that a request is for and the request as that server knows it,
// or why there is none.
func (c *crowd) route(f *frame) (m *member, raw []byte, why string) {
	switch f.method {
	case "tools/call", "prompts/get":
		m, name := c.named(f.name)
		if m == nil {
			return nil, nil, fmt.Sprintf("%q is of none of the servers: names begin with that of a server and %s", f.name,
				between)
		}
		return m, put(f.raw, f.nameAt, jsonx.Quote(name)), ""
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		c.mu.Lock()
		m := c.uris[f.uri]
		c.mu.Unlock()
		if m == nil && len(c.members) == 1 {
			m = c.members[0]
		}
		if m == nil {
			return nil, nil, fmt.Sprintf("no server has listed %q", f.uri)
		}
		return m, f.raw, ""
	case "completion/complete":
		return c.completes(f)
	}
	return nil, nil, fmt.Sprintf("%s cannot be sent to several servers at once; connect to the one that it is for",
		f.method)
}

// named cuts the name that a client has for a tool.
func (c *crowd) named(name string) (*member, string) {
	for _, m := range c.members {
		if rest, ok := strings.CutPrefix(name, m.name+between); ok {
			return m, rest
		}
	}
	return nil, ""
}

// completes routes a request for completion by the prompt or resource that it is about.
func (c *crowd) completes(f *frame) (*member, []byte, string) {
	params, _ := jsonx.Parse(f.params.in(f.raw), jsonx.Options{NUL: true})
	ref := params.Get("ref")
	if name := ref.Get("name"); name != nil {
		if m, rest := c.named(name.Str); m != nil {
			return m, put(f.raw, span{f.params.start + name.Start, f.params.start + name.End}, jsonx.Quote(rest)), ""
		}
	}
	if uri := ref.Get("uri"); uri != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if m := c.uris[uri.Str]; m != nil {
			return m, f.raw, ""
		}
	}
	return nil, nil, "nothing that a server has listed is to be completed"
}

// fromMember takes a message of a server's for the client.
func (c *crowd) fromMember(m *member, msg []byte) error {
	f, err := (&reader{}).read(msg)
	if err != nil { // it was read before
		return err
	}
	c.mu.Lock()
	switch {
	case f.kind == response && c.gathers[f.id] != nil:
		g := c.gathers[f.id]
		c.mu.Unlock()
		return g.take(m, f)
	case f.kind == response:
		delete(c.routes, f.id)
	case f.kind == request: // the ids of two servers may be equal
		c.asked++
		id := jsonx.Quote(fmt.Sprintf("%s-%d", m.name, c.asked))
		c.asks[id] = back{m, f.id}
		msg = put(f.raw, f.idAt, id)
	case f.cancels != "":
		for id, b := range c.asks {
			if b.to == m && b.id == f.cancels {
				msg = bytes.Replace(f.raw, []byte(f.cancels), []byte(id), 1)
				delete(c.asks, id)
				break
			}
		}
	}
	c.mu.Unlock()
	return c.out.write(msg)
}

// Handler returns a front for the bundle.
func (b *Bundle) Handler(o *HTTPOptions) *Front {
	g := &Guard{Name: "obstat", Log: b.Log, bare: true, relays: true}
	return g.Handler(&Process{bundle: b}, nil, o)
}

// start starts the servers behind a pipe.
func (b *Bundle) start(who Caller) *pipe {
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := b.serve(ctx, who, in, out)
		_ = out.Close()
		done <- err
	}()
	return &pipe{toIn, fromOut, func() error { return <-done }, func(os.Signal) { cancel() }}
}
