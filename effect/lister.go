package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// listed returns an operand as a file that was found if it is what a listing prints, as in
// `wc -l $(git ls-files '*.py')`.
func (c *call) listed(w *shell.Word) *shell.Word {
	if !w.Known && shell.IsName(w) && c.namesFile(w) { // `for f in *.go; do gofmt -l $f; done`
		return &shell.Word{Text: w.Shape(), Raw: w.Raw, Span: w.Span, Known: true, Glob: true}
	}
	if w.Known || c.hasFound {
		return w
	}
	if words := c.lister(w); words == nil || !c.listedBy(words) {
		return w
	}
	if inside, _ := printedBy(w); c.foundName == "" && strings.Contains(inside, "grep") {
		list := shell.Parse(inside, &shell.Options{Lang: c.a.opts.Lang}).Commands
		c.foundName = grepsFor(list[len(list)-1].Words)
	}
	c.f.noLinks, c.f.noHidden, c.f.foundAll = c.noLinks, c.noHidden, c.foundAll && c.foundName == ""
	c.f.found, c.f.starts, c.f.foundName, c.f.foundShape, c.f.secretNames = c.found, c.starts, c.foundName, c.foundShape, c.names
	v := *w
	v.Why = whyFound
	return &v
}

// lister returns the command that lists files of which a word is one, nil if there is none.
func (c *call) lister(w *shell.Word) []shell.Word {
	if words := c.producer(w); words != nil && listing(words) {
		return words
	}
	return nil
}

// noFlag reports whether a word is one that a command prints which prints no flags: names below a directory that it is told,
// or plain words, as `$(grep -rl x src)` and `$(go list ./... | grep -v e2e)`.
func (c *call) noFlag(w *shell.Word) bool {
	words := c.producer(w)
	if words == nil {
		return false
	}
	if listing(words) {
		starts := startsOf(words)
		return len(starts) > 0 && (words[0].Text == "find" || words[0].Text == "grep" || words[0].Text == "rg") &&
			!slices.ContainsFunc(starts, func(s shell.Word) bool { return !s.Known || s.Text == "" || s.Text[0] == '-' })
	}
	_, ok := shell.PrintedBy(words)
	return ok
}

// producer returns the command that prints the lines of which a word is one, where others behind it at most leave some out: of
// `$(ls | head -5)` it is ls. It is nil if there is none.
func (c *call) producer(w *shell.Word) []shell.Word {
	inside, ok := printedBy(w)
	if !ok || len(inside) > maxPattern {
		return nil
	}
	s := shell.Parse(inside, &shell.Options{Lang: c.a.opts.Lang})
	if len(s.Commands) == 0 || len(s.Gaps) > 0 {
		return nil
	}
	column := false
	for i := range s.Commands {
		k := &s.Commands[i]
		first := i > 0 && !column && firstColumn(k.Words)
		if len(k.Assigns) > 0 || slices.ContainsFunc(k.Redirects, notErrors) || i > 0 && (k.Stdin != i-1 || k.Nest&shell.MixedStdin != 0 || !first && !selects(k.Words)) {
			return nil
		}
		column = column || first
	}
	words := s.Commands[0].Words
	if len(words) == 0 || c.f.script != nil && c.f.script.Redefines(path.Base(words[0].Text)) {
		return nil
	}
	if column {
		return tableOf(words)
	}
	return words
}

// printedBy returns the commands of which a word is a line that they print: `$(find .)`, or a variable that a loop sets to it.
func printedBy(w *shell.Word) (string, bool) {
	if inside, ok := strings.CutPrefix(w.Raw, "$("); ok {
		return strings.CutSuffix(inside, ")")
	}
	name := strings.Trim(w.Raw, `"${}`)
	if !isWord(name) || strings.Count(w.Raw, "$") != 1 || strings.Trim(w.Raw[:strings.IndexByte(w.Raw, '$')], `"`) != "" {
		return "", false
	}
	return strings.CutPrefix(w.Why, shell.LineOf)
}

// grepsFor returns the pattern of names that a grep leaves: of `git diff --name-only | grep '\.go$'` it is *.go.
func grepsFor(words []shell.Word) string {
	if len(words) != 2 || words[0].Text != "grep" {
		return ""
	}
	ext, ok := strings.CutPrefix(words[1].Text, `\.`)
	if ext, end := strings.CutSuffix(ext, "$"); ok && end && ext != "" && isWord(ext) {
		return "*." + ext
	}
	return ""
}

// firstColumn reports whether awk prints the first word of lines, and nothing else: `awk '/web/ {print $1}'`.
func firstColumn(words []shell.Word) bool {
	if len(words) != 2 || words[0].Text != "awk" || !words[1].Known {
		return false
	}
	condition, action, ok := strings.Cut(words[1].Text, "{")
	condition = strings.TrimSpace(condition)
	return ok && strings.Join(strings.Fields(action), " ") == "print $1}" && (condition == "" || condition == "NR>1" || condition[0] == '/' && strings.Trim(condition, "/") == condition[1:max(len(condition)-1, 1)] && plain(strings.Trim(condition, "/")))
}

// tableOf returns words that print what stands in the first column of a table: names of kubectl, identifiers of docker.
func tableOf(words []shell.Word) []shell.Word {
	name, flag := words[0].Text, "-q"
	switch {
	case len(words) < 2 || slices.ContainsFunc(words, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-o") || strings.HasPrefix(w.Text, "--o") || strings.HasPrefix(w.Text, "--f") || strings.HasPrefix(w.Text, "--t") || w.Text == "-A" || w.Text == "--all-namespaces"
	}):
		return nil
	case name == "kubectl":
		flag = "-oname"
	case name != "docker" && name != "podman" || words[1].Text != "ps":
		return nil
	}
	return append(words[:len(words):len(words)], shell.Word{Text: flag, Known: true})
}

// notErrors reports whether a redirect is more than `2>/dev/null`.
func notErrors(r shell.Redirect) bool { return r.Fd != "2" || r.Target.Text != "/dev/null" }

// selects reports whether a command prints some of the lines that it reads, and nothing else: `head -20`, `grep -v test`.
func selects(words []shell.Word) bool {
	if len(words) == 0 || !words[0].Known {
		return false
	}
	operands, most, flags := 0, 0, ""
	switch words[0].Text {
	case "head", "tail":
		flags = "n0123456789+"
	case "sort":
		flags = "urnV"
	case "grep":
		flags, most = "viEFPwx", 1
	case "uniq", "tac":
	default:
		return false
	}
	for i := range words[1:] {
		t := words[1+i].Text
		switch {
		case !words[1+i].Known || strings.HasPrefix(t, "--"):
			return false
		case len(t) > 1 && t[0] == '-':
			if strings.Trim(t[1:], flags) != "" {
				return false
			}
		case allDigits(t) && flags[0] == 'n': // `head -n 20`
		default:
			operands++
		}
	}
	return operands <= most
}

// listing reports whether a command prints nothing but names of files that are there.
func listing(words []shell.Word) bool {
	if len(words) == 0 || !words[0].Known {
		return false
	}
	name, ok := programName(words[0].Text)
	switch {
	case !ok || name == "git" && (len(words) < 2 || words[1].Text != "ls-files" && !namesOnly(words)):
		return false
	case name != "find" && name != "fd" && name != "ls" && name != "git" && name != "rg" && name != "grep":
		return false
	}
	names := name != "rg" && name != "grep"
	for i := range words[1:] {
		t := words[1+i].Text
		switch flag, _, _ := strings.Cut(t, "="); flag {
		case "--files", "--files-with-matches":
			names = true
		case "--label", "--format", "-printf", "-fprintf", "-fprint", "-fprint0", "-exec", "-execdir", "-ok", "-okdir", "-files0-from", "-x", "-X", "--exec", "--exec-batch", "--search-path", "--base-directory":
			return false // it prints what it is told to, or begins elsewhere
		}
		names = names || printsNames(name, t)
		if strings.HasPrefix(t, "--for") || strings.HasPrefix(t, "--lab") || name == "fd" && strings.HasPrefix(t, "-x") {
			return false
		}
	}
	return names
}

// printsNames reports whether letters that stand together and take no value make a search print names: `grep -rlZ`.
func printsNames(name, letters string) bool {
	none := "rRnilwxEFGPIsHZzva"
	if name == "rg" {
		none = "nilwxFPsSHv0u"
	}
	return len(letters) > 1 && letters[0] == '-' && strings.Trim(letters[1:], none) == "" && strings.Contains(letters, "l") && (name == "rg" || name == "grep")
}

// namesOnly reports whether git prints the names of changed files: `git diff --name-only HEAD~1`.
func namesOnly(words []shell.Word) bool {
	return words[1].Text == "diff" && slices.ContainsFunc(words[2:], func(w shell.Word) bool { return w.Text == "--name-only" })
}

// printedInput returns the word that stands for each one that is piped in, if those are plain words which begin with no dash:
// `docker ps -q | xargs docker stop`, `git branch --merged | grep -v main | xargs git branch -d`.
func (c *call) printedInput() (shell.Word, bool) {
	s := c.f.script
	if s == nil || c.f.at < 0 || c.f.at >= len(s.Commands) {
		return shell.Word{}, false
	}
	if s.Commands[c.f.at].Nest&shell.MixedStdin != 0 {
		return shell.Word{}, false
	}
	at, column := s.Commands[c.f.at].Stdin, false
	for range s.Commands {
		if at < 0 || at >= len(s.Commands) || s.Commands[at].Nest&shell.MixedStdin != 0 || len(s.Commands[at].Assigns) > 0 {
			return shell.Word{}, false
		}
		from := &s.Commands[at]
		first := !column && firstColumn(from.Words)
		if !first && !selects(from.Words) || from.Stdin < 0 {
			break
		}
		at, column = from.Stdin, column || first
	}
	words := s.Commands[at].Words
	if column {
		words = tableOf(words)
	}
	if len(words) == 0 || slices.ContainsFunc(s.Commands[at].Redirects, notErrors) || s.Redefines(words[0].Text) {
		return shell.Word{}, false
	}
	if listsBranches(words) {
		words = []shell.Word{{Text: "git", Known: true}, {Text: "branch", Known: true}, {Text: "--show-current", Known: true}}
	}
	return shell.PrintedBy(words)
}

// listsBranches reports whether git prints names of branches, none of which begins with a dash.
func listsBranches(words []shell.Word) bool {
	if len(words) < 2 || words[0].Text != "git" || words[1].Text != "branch" {
		return false
	}
	for i := range words[2:] {
		switch w := &words[2+i]; {
		case !w.Known:
			return false
		case w.Text == "-r" || w.Text == "-a" || w.Text == "--list" || strings.HasPrefix(w.Text, "--merged") || strings.HasPrefix(w.Text, "--no-merged"):
		case i > 0 && !isFlag(w.Text): // `--merged main`
		default:
			return false
		}
	}
	return len(words) > 2
}
