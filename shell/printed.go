package shell

import (
	"slices"
	"strings"
)

// whyPrinted begins the reason of a word that one command prints, of which it is known that it prints one plain word:
// `$(nproc)`.
const whyPrinted = "a word that is printed by "

// IsPrinted reports whether a dynamic word is what a command prints that prints numbers, names or paths, so that it
// begins with no dash and is not split: `git push origin "$(git branch --show-current)"`.
func IsPrinted(w *Word) bool {
	return !w.Known && w.Text == "" && w.Bound && strings.HasPrefix(w.Why, whyPrinted)
}

// onePrinted reports whether a variable is nothing but such a word.
func onePrinted(v variable) bool {
	return strings.HasPrefix(v.why, whyPrinted) && v.shape == Unknown
}

// PrintedBy returns the word that stands for each one that a command prints, if it is known that it prints plain words only, of
// which none begins with a dash: `docker ps -q`.
func PrintedBy(words []Word) (Word, bool) {
	args := make([]string, 0, len(words))
	for i := range words {
		if !words[i].Known || words[i].Glob || i == maxPrinted {
			return Word{}, false
		}
		args = append(args, words[i].Text)
	}
	if len(args) == 0 {
		return Word{}, false
	}
	shape, ok := printsWord(args)
	return Word{Why: whyPrinted + args[0], Raw: "{}", Bound: true}.WithShape(Unknown), ok && shape == Unknown
}

// printsWord returns what a command prints that prints plain words: the very text, or Unknown.
func printsWord(args []string) (shape string, ok bool) {
	flags := func(known ...string) bool { return slices.Contains(known, strings.Join(args[1:], " ")) }
	switch args[0] {
	case "mktemp":
		return temporary(args[1:])
	case "dirname":
		return parent(args[1:])
	case "nproc", "whoami":
		return Unknown, len(args) == 1
	case "id":
		return Unknown, flags("-u", "-g", "-un", "-gn")
	case "uname":
		return Unknown, flags("", "-s", "-m", "-r")
	case "date":
		return Unknown, len(args) == 2 && plainDate(args[1])
	case "git":
		return Unknown, flags("branch --show-current", "rev-parse HEAD", "rev-parse --short HEAD", "rev-parse --abbrev-ref HEAD", "rev-list --count HEAD")
	case "docker", "podman":
		return Unknown, printsIDs(args[1:])
	case "go":
		return Unknown, flags("list ./...", "list -m", "list .")
	case "pgrep":
		return Unknown, len(args) > 1 && !slices.ContainsFunc(args[1:], func(a string) bool {
			return a[:min(len(a), 1)] == "-" && a != "-f" && a != "-x" && a != "-n" && a != "-o"
		})
	case "lsof":
		return Unknown, len(args) > 1 && strings.HasPrefix(args[1], "-t") && strings.Trim(args[1], "-ti:0123456789") == ""
	}
	return "", false
}

// printsIDs reports whether docker prints nothing but identifiers: `ps -aq --filter name=db`.
func printsIDs(args []string) bool {
	if len(args) > 1 && slices.Contains([]string{"container ls", "image ls", "volume ls", "network ls", "compose ps"}, args[0]+" "+args[1]) {
		args = args[1:]
	} else if len(args) == 0 || args[0] != "ps" && args[0] != "images" {
		return false
	}
	quiet := false
	for i := 1; i < len(args); i++ {
		switch name, _, attached := strings.Cut(args[i], "="); name {
		case "-q", "-aq", "-qa", "--quiet":
			quiet = true
		case "-a", "--all", "-l", "--latest", "--no-trunc":
		case "-f", "--filter":
			if !attached {
				i++
			}
		default:
			return false
		}
	}
	return quiet
}

// plainDate reports whether a format of date gives one word that begins with a digit or a letter: `+%F`, `+v%Y.%m`. Of
// `+%n-rf`, `+%Z` and `+%z` the word is, or may be, a flag.
func plainDate(format string) bool {
	format, ok := strings.CutPrefix(format, "+")
	if !ok || format == "" || strings.IndexByte("-_.:", format[0]) >= 0 {
		return false
	}
	for i := 0; i < len(format); i++ {
		switch ch := format[i]; {
		case ch == '%':
			if i++; i == len(format) || strings.IndexByte("YymdHMSFTsjNDRuVG", format[i]) < 0 {
				return false
			}
		case ch|0x20 >= 'a' && ch|0x20 <= 'z', ch >= '0' && ch <= '9', strings.IndexByte("-_.:", ch) >= 0:
		default:
			return false
		}
	}
	return true
}

// temporary is the file that mktemp makes, which no other has: its letters stand for those that it takes.
func temporary(args []string) (shape string, ok bool) {
	if len(args) > 0 && args[0] == "-d" {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return "/tmp/tmp.XXXXXXXXXX", true
	case len(args) > 1 || !strings.HasPrefix(args[0], "/tmp/") || !strings.Contains(args[0], "XXX") || strings.Contains(args[0], "..") || strings.ContainsAny(args[0], " \t\n*?["):
		return "", false
	}
	return args[0], true
}

// parent is what dirname prints of one plain path.
func parent(args []string) (shape string, ok bool) {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' || strings.ContainsAny(args[0], " \t\n*?[") {
		return "", false
	}
	p := strings.TrimRight(args[0], "/")
	at := strings.LastIndexByte(p, '/')
	switch {
	case p == "":
		return "/", true
	case at < 0:
		return here, true
	}
	if p = strings.TrimRight(p[:at], "/"); p == "" {
		return "/", true
	}
	return p, true
}

// Redefines reports whether a text may give a program's name another meaning: a function, an alias, or what only eval
// sees; of git, also whether it may name a branch as it likes. Nobody else may look at the script meanwhile.
func (s *Script) Redefines(name string) bool {
	if s.meant == nil {
		s.meant = map[string]bool{}
		for _, word := range [...]string{"function", "alias", "eval"} {
			s.defines = s.defines || strings.Contains(s.Source, word)
		}
		s.refs = strings.Contains(s.Source, "symbolic-ref") || strings.Contains(s.Source, "update-ref") || strings.Contains(s.Source, ".git/")
	}
	if name == "" || s.defines || s.refs && name == "git" {
		return true
	}
	found, asked := s.meant[name]
	if !asked && len(s.meant) < maxPrinted {
		found = definesFunction(s.Source, name)
		s.meant[name] = found
	}
	return found || !asked && len(s.meant) >= maxPrinted
}

// definesFunction reports whether a name stands before a parenthesis.
func definesFunction(source, name string) bool {
	for at := strings.Index(source, name); at >= 0; {
		rest := source[at+len(name):]
		if after := strings.TrimLeft(rest, " \t\r\n\\"); after != "" && after[0] == '(' {
			return true
		}
		next := strings.Index(rest, name)
		if next < 0 {
			return false
		}
		at += len(name) + next
	}
	return false
}
