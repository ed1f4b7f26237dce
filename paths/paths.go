// Package paths says where a path leads and how delicate that place is.
//
// It owns the textual meaning of a path (`~`, `$HOME`, `..`, `//`, `/proc/self/root`,
// Windows forms), the following of symbolic links through an interface, containment
// in a root, and the tables of sensitive paths.
//
// It never touches the file system itself: homes, links and directories come in through
// FS, so that a recorded world answers the same way again. It does not know tools,
// commands or rules.
package paths

import (
	"path"
	"strings"
)

const (
	maxLinks = 40      // symbolic links and doors that are followed before a path is given up as a loop
	maxPath  = 4 << 10 // longest path that a kernel takes; longer ones are only cleaned
	whyLong  = "the path is longer than any that can be opened"
)

// FS answers questions about the file system. A nil FS knows nothing.
type FS interface {
	// Home returns the home directory of a user; "" is the user whose call it is.
	Home(user string) (string, bool)
	// Readlink returns the target of a symbolic link, and false if path is not one.
	Readlink(path string) (string, bool)
	// IsDir reports whether path is known to be a directory.
	IsDir(path string) bool
}

// Lister is an FS that can also list a directory, so that a shell pattern can be
// followed through links.
type Lister interface {
	// List returns the names of the symbolic links and of the directories in a directory; all is
	// false if there may be others: it has too many, or cannot be read.
	List(dir string) (links, dirs []string, all bool)
}

// Walker is an FS that can look at a whole path at once.
type Walker interface {
	// Walk reports whether no part of a clean absolute path is a symbolic link, as far as the path
	// exists, and whether it is a directory. It may say no where it cannot tell.
	Walk(path string) (straight, dir bool)
}

// Filer is an FS that can also tell plain files, so that a file .git, which names another
// repository, is seen.
type Filer interface {
	// IsFile reports whether path is known to be a file.
	IsFile(path string) bool
}

// Searcher is an FS that can also look for secrets in a directory, so that `cat deploy/*` is judged by the keys that
// lie there.
type Searcher interface {
	// Secrets returns files in a directory and below it that the built-in table calls secrets; all is false if there
	// may be others: the directory has too many files, or cannot be read.
	Secrets(dir string) (files []string, all bool)
}

// Twinner is an FS that can also tell the other names of a file that has several, so that a hard link to `.env` is
// judged as `.env` is.
type Twinner interface {
	// Twins returns other names of a plain file, of those that lie in the project around it or at the top of the home
	// directory. There may be more.
	Twins(path string) []string
}

// Resolver turns the paths of a call into absolute ones. The zero value knows neither
// home nor working directory: it resolves absolute paths only.
type Resolver struct {
	FS  FS     // nil: no home, no links
	Dir string // working directory; "" is unknown
}

// Path is where a path leads.
type Path struct {
	Text string // lexically clean, `~` expanded; relative if the working directory is unknown
	Abs  string // Text made absolute, "" if that is not possible
	Real string // Abs with symbolic links followed as far as FS knows them, "" if not knowable
	Why  string // why Abs or Real is missing or not certain
}

// Known reports whether the path's place is certain.
func (p Path) Known() bool { return p.Why == "" && p.Abs != "" }

// Resolve expands a leading `~`, `~user` or `$HOME` and resolves the rest like Literal.
func (r Resolver) Resolve(p string) Path {
	if p == "" || (p[0] != '~' && p[0] != '$') {
		return r.Literal(p)
	}
	user, rest, ok := splitHome(p)
	if !ok {
		return r.Literal(p)
	}
	home, ok := r.home(user)
	if !ok {
		return Path{Text: clean(p), Why: "the home directory is not known"}
	}
	return r.Literal(home + rest)
}

// Literal resolves p without expanding anything in it, as a program does with its argument.
func (r Resolver) Literal(p string) Path { return r.literal(p, 0) }

// literal is Literal behind some of the kernel's doors.
func (r Resolver) literal(p string, doors int) Path {
	switch {
	case p == "":
		return Path{Why: "empty path"}
	case strings.IndexByte(p, 0) >= 0:
		return Path{Why: "NUL byte in the path"}
	}
	if w, ok := windows(p); ok {
		return Path{Text: w, Abs: w, Real: w}
	}
	full := p
	if p[0] != '/' {
		if r.Dir == "" || r.Dir[0] != '/' {
			return Path{Text: clean(p), Why: "the working directory is not known"}
		}
		full = r.Dir + "/" + p
	}
	out := Path{}
	out.Abs = clean(full)
	if strings.HasPrefix(out.Abs, "/proc/") || strings.HasPrefix(out.Abs, "/dev/fd/") {
		return r.proc(out.Abs, doors)
	}
	out.Text, out.Real = out.Abs, out.Abs
	switch {
	case len(full) > maxPath:
		out.Real, out.Why = "", whyLong
	case r.FS != nil:
		out.Real, out.Why = r.follow(full)
	}
	return out
}

// LooksIn returns the directory that a shell pattern looks in, of `/p/certs/*.pem` /p/certs; a path without a pattern
// is returned as it is, clean.
func LooksIn(pattern string) string {
	if at := strings.IndexAny(pattern, "*?["); at >= 0 {
		pattern = pattern[:strings.LastIndexByte(pattern[:at], '/')+1]
	}
	return path.Clean(pattern)
}

// Inside reports whether p is root or lies below it. Both must be absolute; an empty or
// relative path is inside nothing and holds nothing.
func Inside(root, p string) bool {
	if !absolute(root) || !absolute(p) {
		return false
	}
	root, p = clean(root), clean(p)
	if root == "/" {
		return p[0] == '/'
	}
	root = strings.TrimSuffix(root, "/")
	return strings.HasPrefix(p, root) && (len(p) == len(root) || p[len(root)] == '/')
}

func absolute(p string) bool {
	return p != "" && (p[0] == '/' || isDrive(p) && len(p) > 2 && p[2] == '/')
}

// clean is path.Clean, without its allocation for a path that is clean already.
func clean(p string) string {
	if isClean(p) {
		return p
	}
	return path.Clean(p)
}

func isClean(p string) bool {
	if p == "" || p == "/" {
		return p == "/"
	}
	begin := 0 // of a segment
	for i := 0; i < len(p); i++ {
		if p[i] != '/' {
			continue
		}
		if seg := p[begin:i]; seg == "." || seg == ".." || seg == "" && i != 0 {
			return false
		}
		begin = i + 1
	}
	last := p[begin:]
	return last != "" && last != "." && last != ".."
}

// splitHome takes the home prefix off p: user is "" for the caller.
func splitHome(p string) (user, rest string, ok bool) {
	for _, v := range [...]string{"$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(p, v); ok && (rest == "" || rest[0] == '/') {
			return "", rest, true
		}
	}
	if p[0] != '~' {
		return "", "", false
	}
	end := strings.IndexByte(p, '/')
	if end < 0 {
		end = len(p)
	}
	return p[1:end], p[end:], true
}

func (r Resolver) home(user string) (string, bool) {
	if user == "+" {
		return r.Dir, r.Dir != ""
	}
	if r.FS == nil {
		return "", false
	}
	h, ok := r.FS.Home(user)
	return h, ok && absolute(h)
}

// proc resolves the kernel's doors to other places: a path through them must not look
// like one that stays in /proc.
func (r Resolver) proc(abs string, doors int) Path {
	out := Path{Text: abs, Abs: abs, Real: abs}
	switch {
	case strings.HasPrefix(abs, "/dev/fd/"):
		out.Why = "what the descriptor stands for is not known"
		return out
	case len(abs) > maxPath:
		out.Real, out.Why = "", whyLong
		return out
	case doors >= maxLinks:
		out.Real, out.Why = "", "too many symbolic links"
		return out
	}
	segs := strings.Split(abs[len("/proc/"):], "/")
	at := 1
	if len(segs) > 2 && segs[1] == "task" {
		at = 3
	}
	if !isProcess(segs[0]) || len(segs) <= at {
		return out
	}
	rest := "/" + strings.Join(segs[at+1:], "/")
	own := segs[0] == "self" || segs[0] == "thread-self"
	switch segs[at] {
	case "root":
		in := r.literal(rest, doors+1)
		if !own && in.Why == "" {
			in.Why = "the root directory of another process is not known"
		}
		return in
	case "cwd":
		if own && r.Dir != "" {
			return r.literal(r.Dir+rest, doors+1)
		}
		out.Why = "the working directory of the process is not known"
	case "fd", "map_files", "exe":
		out.Why = "what the link of the process stands for is not known"
	}
	return out
}

func isProcess(s string) bool {
	if s == "self" || s == "thread-self" {
		return true
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// follow walks p component by component as the kernel does, so that `link/..` is the
// parent of the link's target and not of the link.
func (r Resolver) follow(p string) (string, string) {
	if isClean(p) && !r.hasLink(p) {
		return p, ""
	}
	todo, done, links := p, "/", 0
	for todo != "" {
		seg := todo
		if i := strings.IndexByte(todo, '/'); i >= 0 {
			seg, todo = todo[:i], todo[i+1:]
		} else {
			todo = ""
		}
		switch seg {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := join(done, seg)
		target, ok := r.FS.Readlink(next)
		if !ok || target == "" {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", "too many symbolic links"
		}
		if target[0] == '/' {
			done = "/"
		}
		todo = target + "/" + todo
	}
	return done, ""
}

// hasLink reports whether a part of a clean absolute path is a symbolic link.
func (r Resolver) hasLink(p string) bool {
	if w, ok := r.FS.(Walker); ok {
		if straight, _ := w.Walk(p); straight {
			return false
		}
	}
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		if _, ok := r.FS.Readlink(p[:i]); ok {
			return true
		}
	}
	return false
}

func join(dir, seg string) string {
	if dir == "/" {
		return "/" + seg
	}
	return dir + "/" + seg
}

// windows recognises drive and UNC paths and writes them with slashes: C:/x, //server/x.
func windows(p string) (string, bool) {
	switch {
	case HasDrive(p):
		rest := clean(strings.ReplaceAll(p[2:], `\`, "/"))
		return strings.ToUpper(p[:1]) + ":" + rest, true
	case strings.HasPrefix(p, `\\`) && len(p) > 2:
		p = strings.TrimPrefix(strings.TrimPrefix(p, `\\?\`), `\\.\`)
		if isDrive(p) {
			return windows(p)
		}
		return "/" + clean("/"+strings.TrimLeft(strings.ReplaceAll(p, `\`, "/"), "/")), true
	}
	return "", false
}

func isDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

// HasDrive tells whether p starts as absolute Windows paths do, as in C:\x.
func HasDrive(p string) bool {
	return isDrive(p) && len(p) > 2 && (p[2] == '\\' || p[2] == '/')
}
