package hookrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/agent"
)

// Quick is the obstat-hook command: the quick half of a pair whose other half is
// the obstat command beside it. Its arguments are those of `obstat hook`.
func Quick(args []string) int {
	r := new(run)
	o := System(&r.Options)
	o.Handover = func(payload []byte) (agent.Reply, error) { return ask(o.Exe, args, payload) }
	o.Elsewhere = !o.parse(args)
	return r.run()
}

// parse reads the arguments that installed hooks have. It is not ok where there
// are others: the other half knows them all, and what is wrong with them.
func (o *Options) parse(args []string) (ok bool) {
	ok = true
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && o.word(name) {
			continue
		}
		if !joined && len(args) > 0 {
			value = args[0]
			if known := o.flag(name, value); known {
				args = args[1:]
				continue
			}
		} else if joined && o.flag(name, value) {
			continue
		}
		ok = false
		if slices.Contains(agent.Agents(), name) && !slices.Contains(agent.Agents(), o.Agent) {
			o.Agent = name // what was taken for it is the value of an option
		}
	}
	return ok
}

// word reads an argument that has no value.
func (o *Options) word(name string) bool {
	switch {
	case name == "--interactive":
		o.Interactive = true
	case name == "--remember":
		o.Remember = true
	case name != "" && name[0] != '-' && o.Agent == "":
		o.Agent = name
	default:
		return false
	}
	return true
}

// flag reads an argument with its value.
func (o *Options) flag(name, value string) (ok bool) {
	var err error
	switch name {
	case "--ledger":
		o.NoLedger = value == "off"
		return value == "on" || value == "off"
	case "--wait":
		o.Waiting, err = ParseWaiting(value)
		return err == nil
	case "--deadline":
		o.Deadline, err = time.ParseDuration(value)
		return err == nil && o.Deadline > 0
	}
	return false
}

// maxReply bounds what the other half may say.
const maxReply = 64 << 20

// ask lets `obstat hook` answer. Its answer is passed on whole or not at all:
// one that dies on the way has not answered.
func ask(exe string, args []string, payload []byte) (agent.Reply, error) {
	if exe == "" {
		return agent.Reply{}, errors.New("it is not known where this one is")
	}
	name := filepath.Join(filepath.Dir(exe), "obstat"+filepath.Ext(exe))
	out, err := capture()
	if err != nil {
		return agent.Reply{}, err
	}
	words, err := capture()
	if err != nil {
		return agent.Reply{}, err
	}
	in, feed, err := os.Pipe()
	if err != nil {
		return agent.Reply{}, err
	}
	files := []*os.File{in, out.w, words.w}
	if !heard(os.Stdout) {
		files[1] = os.Stdout // then its exit code has to say it all
	}
	p, err := os.StartProcess(name, append([]string{name, "hook"}, args...), &os.ProcAttr{Files: files})
	in.Close()
	out.w.Close()
	words.w.Close()
	if err != nil {
		return agent.Reply{}, err
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
		return agent.Reply{}, err
	case !state.Exited():
		return agent.Reply{}, fmt.Errorf("%s: %s", name, state)
	case len(stdout) > maxReply || len(stderr) > maxReply:
		return agent.Reply{}, errors.New("it said too much")
	}
	return agent.Reply{Stdout: stdout, Stderr: stderr, Exit: state.ExitCode()}, nil
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
