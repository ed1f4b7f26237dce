package confine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// String tells a Profile to people, one sentence a line.
func (p Profile) String() string {
	var b strings.Builder
	say := func(start string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "%s %s.\n", start, strings.Join(list, ", "))
		}
	}
	p = p.sorted()
	level := p.Level
	if level == "" {
		level = LevelFull
	}
	fmt.Fprintf(&b, "Runs at level %s or not at all.\n", level)
	if len(p.Read)+len(p.Write)+len(p.Delete)+len(p.Execute) == 0 && p.Workspace.Mode == "" {
		b.WriteString("May touch no file.\n")
	}
	say("May read", p.Read)
	say("May write", p.Write)
	say("May delete in", p.Delete)
	say("May run programs from", p.Execute)
	b.WriteString(p.Workspace.sentence())
	say("Does not see", few(p.Hidden))
	say("May not change", few(p.ReadOnly))
	b.WriteString(p.Network.sentences())
	say("May connect to the sockets", p.Sockets)
	if len(p.Env.Keep) == 0 && len(p.Env.Set) == 0 {
		b.WriteString("Gets no environment.\n")
	}
	say("Keeps of the environment", p.Env.Keep)
	say("Gets the variables", slices.Sorted(maps.Keys(p.Env.Set)))
	if p.Owners {
		b.WriteString("Keeps root's rights over owners and modes inside these trees.\n")
	}
	say("Is limited to", p.Limits.words())
	for _, g := range p.NotEnforced {
		fmt.Fprintf(&b, "Not enforced: %s.\n", g)
	}
	return b.String()
}

// Brief says in a few words what a command may change and reach, and which things are not enforced:
// `may change /p, connect to this machine; not enforced: hide names that others make in /p during the run`.
func (p Profile) Brief() string {
	p = p.sorted()
	var may []string
	add := func(start string, list []string) {
		if len(list) > 0 {
			may = append(may, start+strings.Join(short(list), ", "))
		}
	}
	var changed, hosts []string
	if p.Workspace.Mode != "" {
		changed = append([]string{p.Workspace.Root}, p.Workspace.More...)
	}
	add("change ", append(changed, p.Write...))
	for _, h := range p.Network.Hosts {
		hosts = append(hosts, h.Name)
	}
	if p.Network.AllLocalhost || len(p.Network.Localhost) > 0 {
		hosts = append(hosts, "this machine")
	}
	add("connect to ", hosts)
	add("use ", p.Sockets)
	text := "may change and reach nothing"
	if may != nil {
		text = "may " + strings.Join(may, ", ")
	}
	var gaps []string
	for _, g := range p.NotEnforced {
		gaps = append(gaps, g.What)
	}
	if gaps != nil {
		text += "; not enforced: " + strings.Join(short(gaps), ", ")
	}
	return text
}

// short cuts a list for a sentence that tells much else.
func short(list []string) []string {
	const most = 4
	if n := len(list) - most; n > 1 {
		return append(list[:most:most], fmt.Sprintf("%d more", n))
	}
	return list
}

// manyNames is how many names of one directory a sentence lists at most.
const manyNames = 12

// few counts the names of a directory that has many: `840 names in /tmp (a.key, b.key, c.key, …)`. The Profile itself
// has them all.
func few(names []string) (out []string) {
	in := map[string][]string{}
	for _, name := range names {
		dir := path.Dir(name)
		in[dir] = append(in[dir], path.Base(name))
	}
	for _, name := range names {
		dir := path.Dir(name)
		switch list := in[dir]; {
		case len(list) > manyNames:
			out = append(out, fmt.Sprintf("%d names in %s (%s, …)", len(list), dir, strings.Join(list[:3], ", ")))
			in[dir] = nil
		case list != nil:
			out = append(out, name)
		}
	}
	return out
}

func (w Workspace) sentence() string {
	switch w.Mode {
	case Overlay:
		return fmt.Sprintf("Works on %s in a layer of its own; each change is judged at the end.\n",
			strings.Join(append([]string{w.Root}, w.More...), ", "))
	case Through:
		return fmt.Sprintf("Works on %s and changes it at once.\n", w.Root)
	}
	return ""
}

func (n Network) sentences() string {
	var b strings.Builder
	for _, h := range n.Hosts {
		fmt.Fprintf(&b, "May connect to %s at %s.\n", h.Name, portWords(h.Ports))
	}
	if n.AllLocalhost {
		b.WriteString("May connect to every port of this machine's loopback.\n")
	} else if len(n.Localhost) > 0 {
		fmt.Fprintf(&b, "May connect to this machine's loopback at %s.\n", portWords(n.Localhost))
	}
	if b.Len() == 0 {
		b.WriteString("Has no network.\n")
	}
	if n.Proxy != "" {
		fmt.Fprintf(&b, "Hosts are reached through %s.\n", n.Proxy)
	}
	if n.Publish {
		b.WriteString("Ports it listens on are published on this machine's loopback.\n")
	}
	return b.String()
}

func portWords(ports []int) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = strconv.Itoa(p)
	}
	if len(words) == 1 {
		return "port " + words[0]
	}
	return "ports " + strings.Join(words, ", ")
}

func (l Limits) words() []string {
	var out []string
	add := func(has bool, format string, args ...any) {
		if has {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	add(l.Time > 0, "%s", l.Time)
	add(l.Processes > 0, "%d processes", l.Processes)
	add(l.Memory > 0, "%d MiB of memory a process", l.Memory>>20)
	add(l.FileSize > 0, "files of %d bytes", l.FileSize)
	add(l.OpenFiles > 0, "%d open files", l.OpenFiles)
	add(l.Temp > 0, "%d MiB of temporary files", l.Temp>>20)
	return out
}
