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
	return !w.Known && (w.Text == "" || w.Text[0] != '-') && w.Bound && strings.HasPrefix(w.Why, whyPrinted)
}

// IsNumber reports whether a dynamic word is nothing but numbers that commands print: `make -j $(nproc)`,
// `docker run -u $(id -u):$(id -g)`.
func IsNumber(w *Word) bool {
	if !IsPrinted(w) {
		return false
	}
	rest := w.Raw
	for _, n := range numbers {
		rest = strings.ReplaceAll(rest, n, "")
	}
	return strings.Trim(rest, `":`) == ""
}

var numbers = []string{"$(nproc)", "$(sysctl -n hw.ncpu)", "$(sysctl -n hw.logicalcpu)", "$(getconf _NPROCESSORS_ONLN)", "$(id -u)", "$(id -g)", "$(date +%s)", "$(git rev-list --count HEAD)"}

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
	case "nproc", "whoami", "hostname", "uuidgen":
		return Unknown, len(args) == 1
	case "sysctl":
		return Unknown, flags("-n hw.ncpu", "-n hw.logicalcpu", "-n hw.physicalcpu")
	case "getconf":
		return Unknown, flags("_NPROCESSORS_ONLN", "_NPROCESSORS_CONF")
	case "id":
		return Unknown, flags("-u", "-g", "-un", "-gn")
	case "uname":
		return Unknown, flags("", "-s", "-m", "-r")
	case "date":
		if len(args) == 3 && args[1] == "-u" {
			args = args[1:]
		}
		return Unknown, len(args) == 2 && plainDate(args[1])
	case "git":
		return Unknown, flags("branch --show-current", "rev-parse --abbrev-ref HEAD", "rev-list --count HEAD") || printsCommit(args[1:])
	case "kubectl", "oc":
		return Unknown, printsNames(args[1:])
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

// printsCommit reports whether git prints the hashes of commits: `merge-base HEAD main`, `rev-list -n 1 main`. A tag may be called anything.
func printsCommit(args []string) bool {
	if len(args) == 0 {
		return false
	}
	last, known := false, ""
	switch args[0] {
	case "rev-parse":
		known = " --short --verify -q "
	case "merge-base":
		known = " --fork-point "
	case "rev-list", "log":
		known = " --tags --first-parent --reverse --no-merges --all "
	default:
		return false
	}
	for _, a := range args[1:] {
		name, _, _ := strings.Cut(a, "=")
		switch {
		case !strings.HasPrefix(a, "-"): // a revision, which is printed itself where there is none such
		case strings.Contains(known, " "+a+" "):
		case args[0] == "log" && (a == "--format=%H" || a == "--format=%h" || a == "--pretty=%H" || a == "--pretty=%h" || a == "--pretty=format:%H" || a == "--pretty=format:%h"):
			last = true
		case (args[0] == "log" || args[0] == "rev-list") && (a == "-n" || strings.Trim(a, "-n0123456789") == "" || strings.HasPrefix(name, "--max-") || name == "--before" || name == "--since" || name == "--after" || name == "--until"):
		default:
			return false
		}
	}
	return last || args[0] != "log"
}

// printsNames reports whether kubectl prints names of things and nothing else: `get pods -l app=web -o name`. Kubernetes has none
// that begins with a dash.
func printsNames(args []string) bool {
	if len(args) < 2 || args[0] != "get" && strings.Join(args, " ") != "config current-context" {
		return false
	}
	names := args[0] == "config"
	for i := 1; i < len(args); i++ {
		name, value, attached := strings.Cut(args[i], "=")
		switch name {
		case "-n", "--namespace", "-l", "--selector", "--context", "--field-selector", "--sort-by", "-o", "--output":
			if !attached {
				i++
				value = strings.Join(args[i:min(i+1, len(args))], "")
			}
			if name == "-o" || name == "--output" {
				value = strings.TrimPrefix(value, "=")
				names = value == "name" || strings.HasPrefix(value, "jsonpath={") && strings.HasSuffix(value, ".metadata.name}") && strings.Count(value, "{") == 1
			}
		case "-A", "--all-namespaces", "--no-headers", "-ojson", "-oyaml", "-owide":
		case "-oname":
			names = true
		default:
			if strings.HasPrefix(name, "-") {
				return false
			}
		}
	}
	return names
}

// printsIDs reports whether docker prints nothing but identifiers: `ps -aq --filter name=db`.
func printsIDs(args []string) bool {
	compose := len(args) > 1 && args[0] == "compose" && args[1] == "ps"
	if len(args) > 1 && (compose || slices.Contains([]string{"container ls", "image ls", "volume ls", "network ls"}, args[0]+" "+args[1])) {
		args = args[1:]
	} else if len(args) == 0 || args[0] != "ps" && args[0] != "images" {
		return false
	}
	quiet := false
	for i := 1; i < len(args); i++ {
		switch name, _, attached := strings.Cut(args[i], "="); {
		case name == "--quiet":
			quiet = true
		case name == "--all" || name == "--latest" || name == "--no-trunc":
		case name == "--filter":
			if !attached {
				i++
			}
		case len(name) > 1 && name[0] == '-' && strings.Trim(name[1:len(name)-1], "qal") == "" && strings.IndexByte("qalf", name[len(name)-1]) >= 0: // `-aqf status=exited`
			if quiet = quiet || strings.Contains(name, "q"); strings.HasSuffix(name, "f") && !attached {
				i++
			}
		case name == "--format":
			value := strings.TrimPrefix(args[i], "--format=")
			if !attached && i+1 < len(args) {
				i++
				value = args[i]
			}
			if quiet = value == "{{.Names}}" || value == "{{.ID}}" || value == "{{.Name}}"; !quiet { // none of which begins with a dash
				return false
			}
		case compose && name != "" && name[0] != '-': // a service
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
