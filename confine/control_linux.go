package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A message goes between the caller and the process inside, one JSON object a packet, with
// descriptors where one side hands the other a socket.
type message struct {
	ID   int    `json:",omitempty"` // of a request, repeated in its answer
	Op   string // "listen", "packet", "dial", "diag", "stop", "answer", "ready", "exit"
	Addr string `json:",omitempty"`
	Err  string `json:",omitempty"`

	Gaps   []Gap `json:",omitempty"`
	ABI    int   `json:",omitempty"`
	Status int   `json:",omitempty"` // as wait(2) has it
	Left   int   `json:",omitempty"`
	Why    string
	Result *Result `json:",omitempty"`
}

// A control is one end of the packets' way. Sending is safe from many goroutines.
type control struct {
	conn *net.UnixConn
	mu   sync.Mutex
}

// socketPair makes both ends: one to keep, one to hand to a new process.
func socketPair() (*control, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	other := os.NewFile(uintptr(fds[1]), "control")
	own, err := controlOf(os.NewFile(uintptr(fds[0]), "control"))
	if err != nil {
		other.Close()
		return nil, nil, err
	}
	return own, other, nil
}

// controlOf takes the file over.
func controlOf(f *os.File) (*control, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, errors.New("confine: not a unix socket")
	}
	return &control{conn: conn}, nil
}

func (c *control) send(m message, files ...int) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _, err = c.conn.WriteMsgUnix(b, rights, nil)
	return err
}

// maxMessage bounds a packet; a plan travels as a file instead.
const maxMessage = 64 << 10

// receive waits for the next message; its files are close-on-exec.
func (c *control) receive() (message, []*os.File, error) {
	b := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(4*8))
	n, on, flags, _, err := c.conn.ReadMsgUnix(b, oob)
	if err != nil {
		return message{}, nil, err
	}
	files, err := filesOf(oob[:on])
	if err != nil {
		return message{}, nil, err
	}
	var m message
	if n == 0 {
		err = net.ErrClosed
	} else if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = fmt.Errorf("confine: a message of more than %d bytes", maxMessage)
	} else {
		err = json.Unmarshal(b[:n], &m)
	}
	if err != nil {
		closeAll(files)
		return message{}, nil, err
	}
	return m, files, nil
}

func filesOf(oob []byte) ([]*os.File, error) {
	parts, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, part := range parts {
		fds, err := unix.ParseUnixRights(&part)
		if err != nil {
			closeAll(files)
			return nil, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// asked keeps the requests that wait for an answer.
type asked struct {
	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	closed  bool
}

type reply struct {
	m     message
	files []*os.File
}

// request sends a message and waits for its answer.
func (a *asked) request(c *control, m message, files ...int) (reply, error) {
	ch := make(chan reply, 1)
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return reply{}, net.ErrClosed
	}
	a.next++
	m.ID = a.next
	if a.waiting == nil {
		a.waiting = map[int]chan reply{}
	}
	a.waiting[m.ID] = ch
	a.mu.Unlock()
	if err := c.send(m, files...); err != nil {
		a.answer(message{ID: m.ID, Err: err.Error()}, nil)
	}
	r, ok := <-ch
	if !ok {
		return reply{}, net.ErrClosed
	}
	if r.m.Err != "" {
		closeAll(r.files)
		return reply{}, errors.New(r.m.Err)
	}
	return r, nil
}

func (a *asked) answer(m message, files []*os.File) {
	a.mu.Lock()
	ch := a.waiting[m.ID]
	delete(a.waiting, m.ID)
	a.mu.Unlock()
	if ch == nil {
		closeAll(files)
		return
	}
	ch <- reply{m, files}
}

// close ends all that wait.
func (a *asked) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for id, ch := range a.waiting {
		close(ch)
		delete(a.waiting, id)
	}
}
