package hook

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/gate"
)

// A server answers the calls of one agent as long as that runs, so that it need not start a
// process for each: opencode's plugin does. Policies are kept, and found anew when a file
// has changed; everything else is as in a process for one call.
type server struct {
	Options
	mu    sync.Mutex     // of the output
	calls sync.WaitGroup // that wait for an answer
	work  sync.WaitGroup // on calls, also where the time is up and they are answered
	slots chan struct{}
}

// maxCalls bounds how many calls wait for an answer at the same time.
const maxCalls = 256

// Serve answers calls until the input ends, and returns the exit code. A line is a number and
// a call, `7 {"tool":"bash",...}`; its answer is the number, the exit code that a process for
// this call would have, and its output: `7 0 {"decision":"allow"}`. Answers come as
// they are ready. A line that is anything else ends the process, which denies all that was
// not answered.
func Serve(o *Options) int {
	s := &server{Options: *o, slots: make(chan struct{}, maxCalls)}
	wd, _ := s.Getwd()
	s.files, s.repeats = newRun(&s.Options).sources(s.Agent, wd), new(gate.Repeats)
	in := bufio.NewReaderSize(s.In, 64<<10)
	code := ExitOK
	for {
		line, err := readLine(in)
		if err == io.EOF {
			break
		}
		id, call, framed := strings.Cut(string(line), " ")
		if err != nil || !framed || !number(id) {
			fmt.Fprintf(s.Err, "obstat hook: a line is a number and a call: %.40q (%v)\n", line, err)
			code = ExitDeny
			break
		}
		select {
		case s.slots <- struct{}{}:
			s.calls.Go(func() { s.call(id, []byte(call)) })
		default:
			s.say(id, ExitDeny, []byte("obstat denies: too many calls wait for an answer"))
		}
	}
	s.calls.Wait()
	idle := make(chan struct{})
	go func() { s.work.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-time.After(ownMargin): // they are answered
	}
	return code
}

// number tells whether a text is made of a few digits.
func number(s string) bool { return s != "" && len(s) < 20 && strings.Trim(s, "0123456789") == "" }

// readLine reads a line, without its end. The rest of an input that breaks off is no line: it may be
// half a call.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxPayload+64:
			return line[:64], fmt.Errorf("the call is larger than %d bytes", maxPayload)
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case err == io.EOF:
			return nil, io.EOF
		case err != bufio.ErrBufferFull:
			return line, err
		}
	}
}

// call answers one call like a process for it.
func (s *server) call(id string, call []byte) {
	var out, errs bytes.Buffer
	r := newRun(&s.Options)
	r.In, r.Out, r.Err = bytes.NewReader(call), &out, &errs
	ended := make(chan int, 2)
	r.Exit = func(code int) { ended <- code } // the time is up
	s.work.Go(func() {
		defer func() { <-s.slots }()
		if code, mine := r.once(); mine {
			ended <- code
		}
	})
	code := <-ended
	r.mu.Lock() // nothing is written once it is answered
	defer r.mu.Unlock()
	if text := bytes.TrimSpace(out.Bytes()); len(text) > 0 {
		s.say(id, code, text)
		return
	}
	s.say(id, code, bytes.TrimSpace(errs.Bytes()))
}

// say writes an answer as one line.
func (s *server) say(id string, code int, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := fmt.Appendf(nil, "%s %d %s\n", id, code, bytes.ReplaceAll(text, []byte("\n"), []byte(" ")))
	if err := say(s.Out, line); err != nil {
		s.Exit(ExitDeny) // the others would be lost as well
	}
}
