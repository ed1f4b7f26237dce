package hookrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/hook"
)

// Quick is the obstat-hook command: the quick half of a pair whose other half is
// the obstat command beside it. Its arguments are those of `obstat hook`.
func Quick(args []string) int {
	o := System(&Options{})
	o.Handover = func(payload []byte) (hook.Reply, error) { return ask(args, payload) }
	o.Agent, o.Waiting, o.Elsewhere = known(args)
	return Run(o)
}

// known reads the arguments that the quick half understands: the agent's name
// and how long to wait. With others, the other half has to answer.
func known(args []string) (agent string, w Waiting, others bool) {
	for len(args) > 0 {
		arg, err := args[0], error(nil)
		args = args[1:]
		value, ok := strings.CutPrefix(arg, "--wait=")
		switch {
		case arg == "--wait" && len(args) > 0:
			value, args, ok = args[0], args[1:], true
		case !ok && (arg == "" || arg[0] == '-' || agent != ""):
			others = true
		case !ok:
			agent = arg
		}
		if ok {
			if w, err = ParseWaiting(value); err != nil {
				others = true
			}
		}
	}
	return agent, w, others
}

// maxReply bounds what the other half may say.
const maxReply = 64 << 20

// ask lets `obstat hook` answer. Its answer is passed on whole or not at all:
// one that dies on the way has not answered.
func ask(args []string, payload []byte) (hook.Reply, error) {
	exe, err := os.Executable()
	if err != nil {
		return hook.Reply{}, err
	}
	name := filepath.Join(filepath.Dir(exe), "obstat"+filepath.Ext(exe))
	out, err := capture()
	if err != nil {
		return hook.Reply{}, err
	}
	words, err := capture()
	if err != nil {
		return hook.Reply{}, err
	}
	in, feed, err := os.Pipe()
	if err != nil {
		return hook.Reply{}, err
	}
	p, err := os.StartProcess(name, append([]string{name, "hook"}, args...), &os.ProcAttr{Files: []*os.File{in, out.w, words.w}})
	in.Close()
	out.w.Close()
	words.w.Close()
	if err != nil {
		return hook.Reply{}, err
	}
	go func() {
		_, _ = feed.Write(payload) // who does not read it all says so by the answer
		feed.Close()
	}()
	go words.read()
	go out.read()
	state, err := p.Wait()
	stdout, stderr := <-out.all, <-words.all
	switch {
	case err != nil:
		return hook.Reply{}, err
	case !state.Exited():
		return hook.Reply{}, fmt.Errorf("%s: %s", name, state)
	case len(stdout) > maxReply || len(stderr) > maxReply:
		return hook.Reply{}, errors.New("it said too much")
	}
	return hook.Reply{Stdout: stdout, Stderr: stderr, Exit: state.ExitCode()}, nil
}

// A pipe takes what a process writes.
type pipe struct {
	r, w *os.File
	all  chan []byte
}

func capture() (*pipe, error) {
	r, w, err := os.Pipe()
	return &pipe{r, w, make(chan []byte, 1)}, err
}

func (p *pipe) read() {
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(p.r, maxReply+1))
	p.all <- b.Bytes()
}
