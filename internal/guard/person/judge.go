package person

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A proc is a process as its system describes it.
type proc struct {
	pid, parent, session, group int
	terminal                    int // its controlling one's number; 0 is none
	front                       int // the foreground group of that terminal
	uid                         int
	name                        string // `bash`, at most 15 bytes on Linux
	exe                         string // "" where it cannot be read
	args, environ               []string
	started                     uint64 // later is larger
}

// A machine is where processes are looked up; tests have some of their own.
type machine struct {
	uid  int
	get  func(pid int) *proc // nil: there is none, or it cannot be read
	pids func() []int
	// cgroup returns the control group of a process, open the terminals that it has
	// open by number, other than as its own.
	cgroup func(pid int) string
	open   func(pid int) []int
	title  func(terminal int) string // `pts/3`
	// mine tells whether this user could have written a program.
	mine func(exe string) bool
	// entered: this is a user namespace that an ordinary process can make.
	entered bool
	alive   func() bool // the terminal of this process can be opened
	reads   bool        // the environments of all processes of this user can be read
}

// maxAncestors bounds the walk up the processes, maxNested that from a terminal to the
// one that its multiplexer is looked at from.
const (
	maxAncestors = 64
	maxNested    = 4
)

// chain returns a process and those above it, and whether it ends with the first one.
func (m *machine) chain(pid int) (out []*proc, whole bool) {
	for len(out) < maxAncestors {
		p := m.get(pid)
		if p == nil {
			return out, false
		}
		if out = append(out, p); p.parent == 0 {
			return out, true
		}
		pid = p.parent
	}
	return out, false
}

// agentIn returns the first process of a chain that is an agent, or that an agent has
// marked; nil for none.
func (m *machine) agentIn(chain []*proc) *proc {
	i := slices.IndexFunc(chain, func(p *proc) bool { return known().agent(p) || Marks(p.environ) != "" })
	if i < 0 {
		return nil
	}
	return chain[i]
}

// judge is [Here] for a process of a machine.
func (m *machine) judge(pid int, place string) (*Who, *Refusal) {
	chain, whole := m.chain(pid)
	if a := m.agentIn(chain); a != nil {
		return nil, refuse(ByAgent, "an agent runs this (%s)", told(a))
	}
	if !whole || len(chain) == 0 {
		return nil, refuse(Unseen, "the processes above this one cannot be read, so that an agent among them could not be "+
			"seen")
	}
	who := &Who{}
	for i, p := range chain {
		if i == 0 {
			who.Process = Process{p.pid, p.name}
		} else {
			who.Parents = append(who.Parents, Process{p.pid, p.name})
		}
	}
	no := m.seated(chain, maxNested)
	if no == nil && !m.alive() {
		no = refuse(NoTerminal, "its terminal is closed")
	}
	if no == nil {
		who.Terminal, who.Typed = m.title(chain[0].terminal), typed(chain)
		return who, nil
	}
	if who.Trust = m.trusted(chain, place); who.Trust != "" {
		return who, nil
	}
	return nil, no
}

// told names an agent's process: "claude 812", "node 90, by CLAUDECODE".
func told(p *proc) string {
	text := fmt.Sprintf("%s %d", p.name, p.pid)
	if mark := Marks(p.environ); mark != "" {
		text += ", by " + mark
	}
	return text
}

// seated looks whether a chain begins at a person's terminal.
func (m *machine) seated(chain []*proc, depth int) *Refusal {
	p := chain[0]
	if p.terminal == 0 {
		if no := m.origin(chain, depth); no != nil {
			return no
		}
		return refuse(NoTerminal, "it has no terminal")
	}
	switch {
	case !slices.ContainsFunc(chain, func(o *proc) bool { return o.pid == p.session }):
		return refuse(Orphan, "the program that its terminal was opened for is not among those that started it")
	case p.front != p.group:
		return refuse(Behind, "it does not run in the foreground of its terminal")
	}
	if lead := m.get(p.group); lead != nil && m.agentIn([]*proc{lead}) != nil {
		return refuse(ByAgent, "it belongs to the process group of an agent (%s)", told(lead))
	}
	return m.origin(chain, depth)
}

// origin looks whether a chain leads up to something that a person has started, without
// a process in between whose parent has ended.
func (m *machine) origin(chain []*proc, depth int) *Refusal {
	if m.entered {
		return refuse(Unseen, "it runs in a namespace that any process can make, and the processes outside cannot be seen")
	}
	for i, p := range chain[1:] {
		below := chain[i]
		switch {
		case known().is("later", p.name):
			return refuse(Later, "%s runs it", p.name)
		case m.is("desktop", p):
			return nil
		case below.session != below.pid:
		case known().is("shares", program(p)) || known().is("shares", strings.TrimSuffix(p.name, ": server")):
			return m.looked(p, depth)
		case m.lets(p):
			return m.near(below)
		case m.is("opens", p):
			return nil
		}
	}
	return m.top(chain)
}

// program returns the name of a process's program.
func program(p *proc) string {
	if p.exe == "" {
		return p.name
	}
	return filepath.Base(strings.TrimSuffix(p.exe, " (deleted)"))
}

// lets tells whether a process is one of the system's that lets people in. `sshd: ann@pts/0`
// runs as ann, and ann could start an sshd of her own, so that its parent counts.
func (m *machine) lets(p *proc) bool {
	named := func(p *proc) bool {
		plain, _, _ := strings.Cut(p.name, "(") // `Relay(9)`
		return p.uid == 0 && known().is("login", plain) && (p.exe == "" || !m.mine(p.exe))
	}
	up := m.get(p.parent)
	return named(p) || known().is("login", p.name) && up != nil && named(up)
}

// near refuses a log-in that comes from this machine itself: `ssh localhost`.
func (m *machine) near(below *proc) *Refusal {
	for _, kv := range below.environ {
		from, is := strings.CutPrefix(kv, "SSH_CONNECTION=")
		if f := strings.Fields(from); is && len(f) == 4 && f[0] == f[2] {
			return refuse(Foreign, "it was started over ssh from this machine itself, where an agent may have done it")
		}
	}
	return nil
}

// runs tells whether an interpreter runs a file of a name, as `python3 /usr/bin/terminator` does.
// A process can call itself anything; `python3 -c` runs no file.
func (p *proc) runs(name string) bool {
	return len(p.args) > 1 && filepath.IsAbs(p.args[1]) && filepath.Base(p.args[1]) == name
}

// is tells whether a process is a program of a list, and one that no agent can have put
// there: one that this user cannot write, or one that is older than all agents that run.
func (m *machine) is(kind string, p *proc) bool {
	k, name := known(), program(p)
	switch {
	case p.exe == "" && p.uid == 0 && m.uid != 0:
		return k.is(kind, p.name)
	case p.exe != "" && k.is(kind, name):
		return !m.mine(strings.TrimSuffix(p.exe, " (deleted)")) || m.eldest(p)
	}
	dirs := strings.Split(filepath.ToSlash(p.exe), "/")
	inside := slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(dir, ".") && k.is(kind, dir) })
	return (inside || k.interprets(name) && k.is(kind, p.name) && p.runs(p.name)) && m.eldest(p)
}

// eldest tells whether no agent that runs has been started before a process.
func (m *machine) eldest(p *proc) bool {
	for _, pid := range m.pids() {
		if o := m.get(pid); o != nil && o.started < p.started && m.agentIn([]*proc{o}) != nil {
			return false
		}
	}
	return true
}

// looked tells whether a person looks at the terminals of a multiplexer: one of its
// clients is at a person's terminal. A server that an agent has started has none.
func (m *machine) looked(server *proc, depth int) *Refusal {
	if a := m.agentIn([]*proc{server}); a != nil {
		return refuse(ByAgent, "an agent started its terminal (%s)", told(a))
	}
	at := m.open(server.pid)
	for _, pid := range m.pids() {
		p := m.get(pid)
		if depth == 0 || p == nil || p.terminal == 0 || p.session != p.pid || !slices.Contains(at, p.terminal) {
			continue
		}
		chain, whole := m.chain(pid)
		if whole && m.agentIn(chain) == nil && !slices.Contains(chain, server) && m.origin(chain, depth-1) == nil {
			return nil
		}
	}
	return refuse(Foreign, "its terminal is one of %s %d, which no person's terminal can be seen to show", server.name,
		server.pid)
}

// under returns the uppermost process of a chain below those that take in orphans: the
// first one, and `systemd --user`.
func under(chain []*proc) *proc {
	for i, p := range chain[1:] {
		if p.pid == 1 || p.parent == 1 && known().is("reaps", p.name) {
			return chain[i]
		}
	}
	return chain[len(chain)-1]
}

// top judges a chain without a program that people's terminals come from: in a container
// or on a machine with services, by the uppermost process below the first one.
func (m *machine) top(chain []*proc) *Refusal {
	n := len(chain)
	first := chain[n-1]
	if first.pid != 1 {
		return nil // it was put into this container from outside: `docker exec -it`
	}
	at := under(chain)
	switch {
	case known().is("reaps", first.name) && m.serves(at):
		return nil
	case (first.terminal != 0 || at.session == first.session) && m.eldest(at):
		return nil // `docker run -it`, or a child of the container's first process
	}
	if at == chain[0] {
		return refuse(Orphan, "the process that started it has ended")
	}
	return refuse(Orphan, "it comes from %s %d, which is no program that opens terminals for people, and the process "+
		"that started that has ended", at.name, at.pid)
}

// serves tells whether a process is the first one of a service of the system: then no
// agent has started it: an agent's orphans stay in the agent's own group.
func (m *machine) serves(p *proc) bool {
	group := m.cgroup(p.pid)
	if !strings.HasPrefix(group, "/system.slice/") || !strings.HasSuffix(group, ".service") {
		return false
	}
	for _, pid := range m.pids() {
		if o := m.get(pid); o != nil && o.started < p.started && m.cgroup(pid) == group {
			return false
		}
	}
	return true
}

// trusted returns the directory of [TrustVariable] that counts for a place, "" for none.
// The variable counts from the processes above, as they were started, if they come from
// something that is no agent's.
func (m *machine) trusted(chain []*proc, place string) string {
	for _, p := range chain[1:] {
		for _, kv := range p.environ {
			if list, is := strings.CutPrefix(kv, TrustVariable+"="); is {
				if dir := Trusts(list, place); dir != "" && m.origin(chain, maxNested) == nil {
					return dir
				}
			}
		}
	}
	return ""
}

// typed tells whether a shell at its prompt has started a process: its parent is a shell
// that runs neither a script nor `-c`, and has given it a group of its own.
func typed(chain []*proc) bool {
	if len(chain) < 2 || chain[0].group != chain[0].pid {
		return false
	}
	k, p := known(), chain[1]
	if len(p.args) == 0 || !k.is("shell", cmp.Or(program(p), p.name)) {
		return false
	}
	return !slices.ContainsFunc(p.args[1:], func(arg string) bool { return arg != "" && !k.is("plain", arg) })
}
