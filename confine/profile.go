package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A Profile says all that a confined command may touch. It is plain data: it prints (String),
// round-trips as JSON and has a Digest. A zero Profile allows nothing, not even to read the
// command's own program.
//
// All paths are absolute. A tree is a directory with everything below it, or one file.
type Profile struct {
	// Level is the least level that will do; empty means LevelFull.
	Level Level `json:"level,omitempty"`

	Read    []string `json:"read,omitempty"`    // trees whose files may be read and listed
	Write   []string `json:"write,omitempty"`   // trees in which files may be made and changed, at once and for good
	Delete  []string `json:"delete,omitempty"`  // trees in which names may be removed, or replaced by a rename
	Execute []string `json:"execute,omitempty"` // trees from which programs and native libraries may be started

	// Hidden names look as if they did not exist, also where they are made later. Inside a tree
	// that is written through, only names that exist at the start can be hidden.
	Hidden []string `json:"hidden,omitempty"`
	// ReadOnly names inside trees to write stay as they are. The same limit holds.
	ReadOnly []string `json:"read_only,omitempty"`

	Workspace Workspace `json:"workspace,omitzero"`
	Network   Network   `json:"network,omitzero"`
	// Sockets are unix sockets with a path that may be connected to, such as `$SSH_AUTH_SOCK`.
	Sockets []string `json:"sockets,omitempty"`
	Env     Env      `json:"env,omitzero"`
	Limits  Limits   `json:"limits,omitzero"`
	// Owners keeps, for a command that is started by root, the rights over owners and modes
	// (`chown`, `su -s`, `tar -x` as root) inside its trees. Other capabilities are never kept.
	Owners bool `json:"owners,omitempty"`

	// NotEnforced lists parts of a policy that this Profile could not take up. It changes
	// nothing; it is there to be shown.
	NotEnforced []Gap `json:"not_enforced,omitempty"`
}

// A Workspace is the directory that a command works in.
type Workspace struct {
	// Root is its real path. One that is a link, or lies behind one, when the run begins is an error.
	Root string `json:"root,omitempty"`
	// Mode is empty (the Root has only the rights that the trees give it), Overlay or Through.
	Mode Mode `json:"mode,omitempty"`
	// More are other directories that an Overlay run writes in layers, whose changes are judged
	// like those of the Root: the repository of a worktree, the machine's /tmp.
	More []string `json:"more,omitempty"`
	// State is a directory outside Root that keeps the layers and the journal of an overlay,
	// best on Root's file system: then changes are moved into place instead of copied.
	State string `json:"state,omitempty"`
}

// A Mode says how a Workspace is written.
type Mode string

const (
	// Overlay keeps changes in a layer beside the workspace until Run has put each to
	// Command.Judge. Hidden names stay hidden even where they are made or replaced meanwhile.
	Overlay Mode = "overlay"
	// Through writes at once: for servers, watchers and everything that stays in the background.
	Through Mode = "through"
)

// Network lists the peers that may be reached, all by TCP.
type Network struct {
	Hosts []Host `json:"hosts,omitempty"`
	// Localhost are ports of the machine's own loopback that may be reached as `localhost:PORT`.
	Localhost []int `json:"localhost,omitempty"`
	// AllLocalhost allows every port of the machine's loopback that is listened on.
	AllLocalhost bool `json:"all_localhost,omitempty"`
	// Publish makes ports that the command listens on reachable on the machine's loopback.
	Publish bool `json:"publish,omitempty"`
	// Proxy is the HTTP proxy through which Hosts are reached, such as `http://10.0.0.1:3128`.
	Proxy string `json:"proxy,omitempty"`
}

// A Host is a name (`example.org`), all names below one (`*.example.org`) or an address, and the
// ports that may be reached there.
type Host struct {
	Name  string `json:"name"`
	Ports []int  `json:"ports"`
}

// Env is the environment of a command: the variables kept of the caller's, and those set. A
// name in Keep may end in `*`, as in `LC_*`.
type Env struct {
	Keep []string          `json:"keep,omitempty"`
	Set  map[string]string `json:"set,omitempty"`
}

// Limits bound a run. Zero is no limit.
type Limits struct {
	Time      time.Duration `json:"time,omitempty"`       // by the clock, then all processes are ended
	Processes int           `json:"processes,omitempty"`  // at once
	Memory    int64         `json:"memory,omitempty"`     // bytes of data of one process, at least 64 MiB
	FileSize  int64         `json:"file_size,omitempty"`  // bytes of one file
	OpenFiles int           `json:"open_files,omitempty"` // of one process
	Temp      int64         `json:"temp,omitempty"`       // bytes of the private /tmp
}

// A Gap is a thing that is not enforced, and the reason.
type Gap struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// String is one line: the thing, and why.
func (g Gap) String() string { return g.What + ": " + g.Why }

// Digest identifies a Profile: equal digests confine alike. The order of lists does not count.
func (p Profile) Digest() string {
	b, err := json.Marshal(p.sorted())
	if err != nil {
		return "" // plain data: cannot happen
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// sorted returns a copy whose lists are in order and without repetitions.
func (p Profile) sorted() Profile {
	for _, list := range []*[]string{&p.Read, &p.Write, &p.Delete, &p.Execute, &p.Hidden, &p.ReadOnly, &p.Sockets,
		&p.Env.Keep} {
		*list = sortedCopy(*list)
	}
	p.Network.Localhost = sortedCopy(p.Network.Localhost)
	p.Workspace.More = sortedCopy(p.Workspace.More)
	hosts := slices.Clone(p.Network.Hosts)
	for i := range hosts {
		hosts[i].Ports = sortedCopy(hosts[i].Ports)
	}
	slices.SortFunc(hosts, func(a, b Host) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	p.Network.Hosts = hosts
	return p
}

func sortedCopy[T int | string](list []T) []T {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Check reports every mistake in a Profile at once, nil if there is none.
func (p Profile) Check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("profile: "+format, args...)) }
	if _, ok := rankOf(p.Level); !ok {
		bad("unknown level %q", p.Level)
	}
	for _, list := range []struct {
		name  string
		paths []string
	}{
		{"read", p.Read}, {"write", p.Write}, {"delete", p.Delete}, {"execute", p.Execute},
		{"hidden", p.Hidden}, {"read_only", p.ReadOnly}, {"sockets", p.Sockets},
	} {
		for _, name := range list.paths {
			if !isCleanPath(name) {
				bad("%s: %q is not an absolute, clean path in UTF-8", list.name, name)
			}
		}
	}
	for _, err := range slices.Concat(p.Workspace.problems(), p.Network.problems(), p.Env.problems(),
		p.Limits.problems()) {
		bad("%w", err)
	}
	return errors.Join(errs...)
}

// isCleanPath wants UTF-8 as well: a Profile travels as JSON, where `caf\xe9/.env` would become another name, and the
// file would not be hidden.
func isCleanPath(name string) bool {
	return strings.HasPrefix(name, "/") && path.Clean(name) == name && !strings.ContainsRune(name, 0) &&
		utf8.ValidString(name)
}

func (w Workspace) problems() (errs []error) {
	if w.Mode != "" && w.Mode != Overlay && w.Mode != Through {
		errs = append(errs, fmt.Errorf("workspace: unknown mode %q", w.Mode))
	}
	if w.Mode != "" && !isCleanPath(w.Root) {
		errs = append(errs, fmt.Errorf("workspace: root %q is not an absolute, clean path", w.Root))
	}
	if w.Mode == Overlay && !isCleanPath(w.State) {
		errs = append(errs,
			fmt.Errorf("workspace: an overlay needs a state directory, and %q is not an absolute, clean path", w.State))
	}
	if w.Mode != Overlay && len(w.More) > 0 {
		errs = append(errs, errors.New("workspace: more directories are layers of an overlay"))
	}
	for _, dir := range w.More {
		if !isCleanPath(dir) {
			errs = append(errs, fmt.Errorf("workspace: %q is not an absolute, clean path", dir))
		}
	}
	for _, dir := range append([]string{w.Root}, w.More...) {
		if w.Mode == Overlay && isBelow(w.State, dir) {
			errs = append(errs, fmt.Errorf("workspace: the state directory %s lies inside the workspace %s", w.State, dir))
		}
	}
	return errs
}

func (n Network) problems() (errs []error) {
	for _, h := range n.Hosts {
		if !isHostName(h.Name) {
			errs = append(errs, fmt.Errorf("network: %q is neither a host name, nor *.NAME, nor an address", h.Name))
		}
		if len(h.Ports) == 0 {
			errs = append(errs, fmt.Errorf("network: %s has no ports", h.Name))
		}
		errs = append(errs, portProblems(h.Name, h.Ports)...)
	}
	errs = append(errs, portProblems("localhost", n.Localhost)...)
	if n.Proxy != "" {
		if _, err := proxyAddress(n.Proxy); err != nil {
			errs = append(errs, fmt.Errorf("network: %w", err))
		}
	}
	return errs
}

func portProblems(of string, ports []int) (errs []error) {
	for _, port := range ports {
		if port < 1 || port > 65535 {
			errs = append(errs, fmt.Errorf("network: %s: %d is no port", of, port))
		}
	}
	return errs
}

// isHostName accepts names as in DNS, with `*.` before, and addresses.
func isHostName(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = strings.TrimPrefix(name, "*.")
	if name == "" || len(name) > 253 || name != strings.ToLower(name) {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

func (e Env) problems() (errs []error) {
	for _, name := range e.Keep {
		if name == "" || strings.ContainsAny(strings.TrimSuffix(name, "*"), "=*\x00") {
			errs = append(errs, fmt.Errorf("env: %q is no name of a variable", name))
		}
	}
	for name, value := range e.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			errs = append(errs, fmt.Errorf("env: %q cannot be set", name))
		}
	}
	return errs
}

// minMemory is the least Limits.Memory: below it the process that sets a confinement up, which
// has the limit as well, could not finish.
const minMemory = 64 << 20

func (l Limits) problems() (errs []error) {
	if l.Time < 0 || l.Processes < 0 || l.FileSize < 0 || l.OpenFiles < 0 || l.Temp < 0 {
		errs = append(errs, errors.New("limits: a limit is negative"))
	}
	if l.Memory != 0 && l.Memory < minMemory {
		errs = append(errs, fmt.Errorf("limits: memory of %d bytes is below %d", l.Memory, minMemory))
	}
	return errs
}

// environ returns the variables of a command, given those of the caller.
func (e Env) environ(caller []string) []string {
	var out []string
	for _, v := range caller {
		name, _, ok := strings.Cut(v, "=")
		if _, set := e.Set[name]; ok && !set && e.keeps(name) {
			out = append(out, v)
		}
	}
	for name, value := range e.Set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func (e Env) keeps(name string) bool {
	return slices.ContainsFunc(e.Keep, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return name == pattern
	})
}

// isBelow reports whether path is dir or lies below it.
func isBelow(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
