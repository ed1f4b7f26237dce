package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/obstat/obstat/internal/format/jsonx"
)

// lines reads messages from a stream, one a line.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, 64<<10)} }

// A longError is a line that is longer than is relayed. It holds its beginning and its end.
type longError struct{ head, tail []byte }

func (e *longError) Error() string {
	return fmt.Sprintf("it is longer than %d bytes", maxFrame)
}

// errCut is the error of a stream that ends within a line.
var errCut = errors.New("the stream ends in the middle of a message")

// next returns the next line that is not blank, without the newline, in memory of its
// own that has room for it.
func (l *lines) next() ([]byte, error) {
	var buf []byte
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case len(buf)+len(part) > maxFrame:
			return nil, l.skip(buf, part, err)
		case err == nil && buf == nil && len(bytes.TrimSpace(part)) == 0:
			continue
		case err == nil:
			buf = append(buf, part...)
			return buf[:len(buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			buf = append(buf, part...)
			continue
		case len(bytes.TrimSpace(buf))+len(bytes.TrimSpace(part)) > 0 && errors.Is(err, io.EOF):
			return nil, errCut
		}
		return nil, err
	}
}

// skip reads to the end of a line that is too long.
func (l *lines) skip(buf, part []byte, err error) error {
	e := &longError{head: bytes.Clone(buf[:min(len(buf), 4<<10)])}
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.r.ReadSlice('\n')
	}
	e.tail = bytes.Clone(part[max(0, len(part)-512):])
	return e
}

// id guesses the id of the message from its beginning and its end: some write it first,
// some last.
func (e *longError) id() string {
	for _, at := range []int{bytes.Index(e.head[:min(len(e.head), 256)], []byte(`"id":`)), -1} {
		text := e.tail
		if at >= 0 {
			text = e.head[at:]
		} else if at = bytes.LastIndex(text, []byte(`"id":`)); at < 0 {
			continue
		} else {
			text = text[at:]
		}
		r := &reader{}
		r.s.Reset(string(text[len(`"id":`):]), jsonx.Options{NUL: true})
		if id, err := r.id(); err == nil {
			return id
		}
	}
	return ""
}

// A sink writes messages to a stream, one a line.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) write(msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(append(oneLine(msg), '\n'))
	return err
}

// oneLine returns a message without the line ends that JSON may have between its parts,
// where a space means the same: a server that reads line by line would run the rest as a
// message of its own, past the gate. Some also end a line with a carriage return: one that
// another message could begin behind becomes a space as well.
func oneLine(msg []byte) []byte {
	if bytes.IndexByte(msg, '\n') < 0 && bytes.IndexByte(msg, '\r') < 0 {
		return msg
	}
	out := append(make([]byte, 0, len(msg)+1), msg...)
	for i, c := range out {
		if c == '\n' || c == '\r' && begins(msg[i:]) {
			out[i] = ' '
		}
	}
	return out
}

// begins tells whether a message could begin with a text, but for blanks.
func begins(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// A Process is a server that the gateway starts and talks to over its standard input and
// output.
type Process struct {
	Command []string
	Dir     string   // "" is the current one
	Env     []string // besides the gateway's own
	Stderr  io.Writer

	bundle *Bundle // in place of a command
}

// A pipe is a running server.
type pipe struct {
	in   io.WriteCloser
	out  io.Reader
	wait func() error
	tell func(os.Signal) // to end
}

// start starts the server for a caller.
func (p *Process) start(who Caller) (*pipe, error) {
	if p.bundle != nil {
		return p.bundle.start(who), nil
	}
	if len(p.Command) == 0 {
		return nil, errors.New("there is no command to start the server with")
	}
	cmd := exec.Command(p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Stderr = p.Dir, p.Stderr
	if len(p.Env) > 0 {
		cmd.Env = append(os.Environ(), p.Env...)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	return &pipe{in, out, cmd.Wait, func(s os.Signal) { _ = cmd.Process.Signal(s) }}, nil
}

// How long a server has to end after its input was closed, and after it was told to.
const (
	graceClose = 5 * time.Second
	graceTerm  = 2 * time.Second
)

// stop ends the server: its input is closed, then it is told to end, then made to.
func (p *pipe) stop(ended <-chan struct{}) {
	_ = p.in.Close()
	for _, step := range []struct {
		wait time.Duration
		sig  os.Signal
	}{{graceClose, terminate}, {graceTerm, os.Kill}} {
		select {
		case <-ended:
			return
		case <-time.After(step.wait):
			p.tell(step.sig)
		}
	}
}

// A connection is a session's way to its server: a process, or an address.
type connection struct {
	link  *link
	pipe  *pipe
	ended chan struct{} // the process has, or the connection was ended
	once  sync.Once
}

// connect starts the server of a session for a caller, or prepares to call its address.
func (s *session) connect(ctx context.Context, p *Process, r *Remote, who Caller) (*connection, error) {
	c := &connection{ended: make(chan struct{})}
	if r != nil {
		c.link = r.link(ctx, s)
		s.toServer = c.link.send
		return c, nil
	}
	var err error
	if c.pipe, err = p.start(who); err != nil {
		return nil, err
	}
	s.toServer = (&sink{w: c.pipe.in}).write
	go func() {
		s.serverEnded(s.readServer(ctx, c.pipe.out))
		_ = c.pipe.wait()
		close(c.ended)
	}()
	return c, nil
}

// end ends the session with the server, or the process.
func (c *connection) end() {
	if c.pipe != nil {
		c.pipe.stop(c.ended)
		return
	}
	c.once.Do(func() {
		c.link.end()
		close(c.ended)
	})
}

// Serve relays between a client on in and out and a server, until one of them ends. The
// error is nil where the client has ended first.
func (g *Guard) Serve(ctx context.Context, server *Process, in io.Reader, out io.Writer) error {
	p, err := server.start(Caller{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	to, from := &sink{w: p.in}, &sink{w: out}
	s := g.session(func(_ string, msg []byte) error { return from.write(msg) }, to.write)
	s.id, s.user = g.Session, g.User
	ended := make(chan struct{})
	left := make(chan struct{}) // the client has
	go func() {
		defer close(left)
		s.readClient(ctx, in)
	}()
	go func() {
		select {
		case <-left:
			s.drained(ended)
		case <-ctx.Done():
		case <-ended:
		}
		p.stop(ended)
	}()
	why := s.readServer(ctx, p.out)
	close(ended)
	werr := p.wait()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	if why == nil {
		why = werr
	}
	s.serverEnded(why)
	if why == nil {
		why = io.EOF
	}
	return fmt.Errorf("the server has ended: %w", why)
}

// messages yields the lines of a stream; an envelopeError for one that cannot be one, which
// may be followed by others, and at last the error that ended the stream, if one did.
func messages(in io.Reader) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		for l := newLines(in); ; {
			line, err := l.next()
			var long *longError
			switch {
			case err == nil:
			case errors.As(err, &long):
				err = &envelopeError{long.id(), codeRequest, long.Error()}
			case errors.Is(err, errCut):
				yield(nil, &envelopeError{"", codeParse, err.Error()})
				return
			default:
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// each hands every message of a stream to take, and broken ones to refuse, until there are no
// more or one of them fails.
func each(in io.Reader, take func([]byte) error, refuse func(error) error) error {
	for msg, err := range messages(in) {
		var e *envelopeError
		switch {
		case err == nil:
			err = take(msg)
		case errors.As(err, &e):
			err = refuse(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readClient takes the client's messages until there are no more.
func (s *session) readClient(ctx context.Context, in io.Reader) {
	_ = each(in, func(msg []byte) error { return s.fromClient(ctx, msg) }, s.refuseFrame)
}

// readServer takes the server's messages until there are no more, or the client cannot be
// written to.
func (s *session) readServer(ctx context.Context, out io.Reader) error {
	return each(out, func(msg []byte) error { return s.fromServer(ctx, msg) }, s.refuseServer)
}

// drained waits until nothing is under way: a client that has closed its end may still
// read answers.
func (s *session) drained(ended <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		n := 0
		for _, a := range s.asked {
			if a.cancel == nil && a.method != "subscriptions/listen" {
				n++
			}
		}
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ended:
			return
		}
	}
}
