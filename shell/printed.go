package shell

import (
	"slices"
	"strings"
)

// whyPrinted begins the reason of a word that one command prints and that is one plain word: `$(nproc)`.
const whyPrinted = "a word that is printed by "

// IsPrinted reports whether a dynamic word is printed by a command whose words begin with no dash
// and are not split: `git push origin "$(git branch --show-current)"`.
func IsPrinted(w *Word) bool {
	return !w.Known && (w.Text == "" || w.Text[0] != '-') && w.Bound && strings.HasPrefix(w.Why, whyPrinted)
}

// IsNumber reports whether a dynamic word is nothing but numbers that commands print:
// `make -j $(nproc)`, `docker run -u $(id -u):$(id -g)`.
func IsNumber(w *Word) bool {
	if !IsPrinted(w) {
		return false
	}
	for i, part := range strings.Split(w.Raw, "$(") {
		command, rest, closed := strings.Cut(part, ")")
		if i == 0 {
			rest = part
		} else if !closed || known().kind(strings.Split(command, " ")) != printsNumber {
			return false
		}
		if strings.Trim(rest, `":`) != "" {
			return false
		}
	}
	return true
}

// onePrinted reports whether a variable is nothing but such a word.
func onePrinted(v variable) bool {
	return strings.HasPrefix(v.why, whyPrinted) && v.shape == Unknown
}

// PrintedBy returns the word that stands for each one that a command prints, if all are plain and
// none begins with a dash: `docker ps -q`.
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
	shape, ok := printed(args)
	return Word{Why: whyPrinted + args[0], Raw: "{}", Bound: true}.WithShape(Unknown), ok && shape == Unknown
}

// printed returns the word that a command prints, or Unknown; ok says that it is a plain one.
func printed(args []string) (shape string, ok bool) {
	last := args[len(args)-1]
	switch known().kind(args) {
	case printsWord, printsNumber:
		return Unknown, true
	case printsTemporary:
		if len(args) == 1 || last == "-d" {
			return "/tmp/tmp.XXXXXXXXXX", true
		}
		return last, onePath(last) && isTemplate(last)
	case printsParent:
		return parent(last), onePath(last)
	}
	return "", false
}

// onePath reports whether a word is one path when it is not quoted.
func onePath(p string) bool { return p != "" && !strings.ContainsAny(p, " \t\n*?[") }

// isTemplate reports whether mktemp makes a file of its own by a template: `/tmp/a.XXX`.
func isTemplate(p string) bool {
	return strings.HasPrefix(p, "/tmp/") && strings.Contains(p, "XXX") && !strings.Contains(p, "..")
}

// parent returns the directory that dirname prints.
func parent(p string) string {
	p = strings.TrimRight(p, "/")
	at := strings.LastIndexByte(p, '/')
	if p != "" && at < 0 {
		return here
	}
	if p = strings.TrimRight(p[:max(at, 0)], "/"); p == "" {
		return "/"
	}
	return p
}

// plainDate reports whether a format of date gives one word that begins with a digit or a letter:
// `+%F`, `+v%Y.%m`. With `+%n-rf`, `+%Z` and `+%z` the word may be a flag.
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

// PrintsSetup reports whether a word as it is written stands for code that a program prints to
// set up a shell: `"$(ssh-agent -s)"`, `<(kubectl completion bash)`. The code belongs to the program,
// which runs anyway; it sets variables and functions, and stays in the directory. The script must
// not be in use elsewhere meanwhile.
func (s *Script) PrintsSetup(raw string) bool {
	text := strings.Trim(raw, `"`)
	if !strings.HasPrefix(text, "$(") && !strings.HasPrefix(text, "<(") || !strings.HasSuffix(text, ")") {
		return false
	}
	text = strings.TrimSuffix(text[2:len(text)-1], " 2>/dev/null")
	if strings.Trim(text, setupLetters) != "" {
		return false
	}
	args := strings.Fields(text)
	if len(args) == 0 || known().kind(args) != printsSetup || definesFunction(s.Source, args[0]) {
		return false
	}
	if containsAny(s.Source, "function", "alias", "ALIASES", "hash", "enable", "PATH=") {
		return false
	}
	for _, rest := range strings.Split(s.Source, "_ROOT=")[1:] { // `PYENV_ROOT=$PWD`: its shims come first
		rest = strings.TrimLeft(rest, `"`)
		if !strings.HasPrefix(rest, "$HOME/.") && !strings.HasPrefix(rest, "~/.") {
			return false
		}
	}
	return true
}

const setupLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._- "

// PrintsSetup reports whether a command prints code for a shell, see [Script.PrintsSetup].
func PrintsSetup(words []Word) bool {
	args := make([]string, 0, len(words))
	for i := range words {
		args = append(args, words[i].Text)
	}
	return len(args) > 0 && known().kind(args) == printsSetup
}

// StaysHere reports whether a file to source belongs to a tool whose files set variables and
// functions and stay in the directory: `.venv/bin/activate`.
func StaysHere(file string) bool {
	return slices.ContainsFunc(known().stays, func(end string) bool {
		before, ok := strings.CutSuffix(file, end)
		return ok && (before == "" || strings.HasSuffix(before, "/"))
	})
}

// Redefines reports whether a script may give a program's name another meaning: by a function, an
// alias, or code that only eval sees; of git, also whether it may name a branch as it likes. The
// script must not be in use elsewhere meanwhile.
func (s *Script) Redefines(name string) bool {
	if s.meant == nil {
		s.meant = map[string]bool{}
		s.defines = containsAny(s.Source, "function", "alias", "eval")
	}
	if name == "" || s.defines {
		return true
	}
	found, asked := s.meant[name]
	if !asked && len(s.meant) < maxPrinted {
		found = definesFunction(s.Source, name) || containsAny(s.Source, known().unless[name]...)
		s.meant[name] = found
	}
	return found || !asked && len(s.meant) >= maxPrinted
}

func containsAny(s string, texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(s, text) })
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
