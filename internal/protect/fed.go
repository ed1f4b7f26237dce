package protect

import (
	"os"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// fed looks at a command that changes files whose names are known only at run
// time. Where another command of the call hands it names, they may be those: of
// the files that one lists, of a list that it reads, of a text that it makes
// into another.
func (k *check) fed(g *effect.Gap) *Finding {
	code := g.Kind == effect.DynamicCode
	once := &k.fedSeen[0]
	if code {
		once = &k.fedSeen[1]
	}
	if *once || !code && !k.anyName(g.Command) {
		return nil
	}
	*once = true
	stdin := slices.ContainsFunc(k.a.Commands, takesNames)
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		if f := k.runsText(c); code && f != nil {
			return f
		}
		if !stdin && !k.substituted(c) && !(code && k.piped(i)) {
			continue
		}
		if slices.ContainsFunc(c.Args(), func(w wordT) bool { return isObstat(w.Text) }) && slices.Contains(locators, c.Program) {
			return finding(c.Text, isProgram, c.Text)
		}
		if f := k.lists(i); f != nil {
			return f
		}
		if f := k.prints(i); f != nil {
			return f
		}
		if f := k.makes(i); f != nil {
			return f
		}
	}
	if stdin || strings.Contains(k.a.Source, "$(") {
		return k.prints(-1) // what is redirected into a loop, or is $(<x)
	}
	return nil
}

// locators are programs that tell where another one is.
var locators = []string{"which", "type", "command", "whereis", "whence", "readlink", "realpath", "hash"}

// anyName tells whether a command changes files of which nothing is known, not
// even what their names look like.
func (k *check) anyName(cmd int) bool {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		if e.Command != cmd || e.Harmless || e.Where != "" {
			continue
		}
		switch {
		case e.Kind == effect.Code && e.Program == "parallel":
			return k.runsChanger(cmd)
		case e.Kind == effect.Code && cmd >= 0 && inPlace(&k.a.Commands[cmd]):
			return true
		case e.Kind != effect.Write && e.Kind != effect.Delete:
		case e.Path == "" && k.mayBe(e.Shape(), k.dirOf(cmd)), e.Unnamed:
			return true
		}
	}
	return false
}

// inPlace tells whether an interpreter changes the files that it is given.
func inPlace(c *effect.Command) bool {
	switch c.Program {
	case "perl", "ruby", "awk", "gawk":
		return slices.ContainsFunc(c.Args(), func(w wordT) bool {
			return w.Text == "inplace" || w.Text == "-i" || strings.HasPrefix(w.Text, "-i.") || len(w.Text) < 5 && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "i")
		})
	}
	return false
}

// mayBe tells whether a shape leaves open that it is a file that guards.
func (k *check) mayBe(shape, dir string) bool {
	p := k.shaped(shape, dir)
	if may, ok := k.mayBeSeen[p]; ok || p == "" {
		return may || p == ""
	}
	if len(k.mayBeSeen) > maxShapes {
		return true
	}
	if k.mayBeSeen == nil {
		k.mayBeSeen = map[string]bool{}
	}
	k.mayBeSeen[p] = slices.ContainsFunc(k.items(), func(it item) bool {
		return !it.common && (common(p, it.path, 0, 0) >= 0 || common(p+"/"+shell.Unknown, it.path, 0, 0) >= 0)
	})
	return k.mayBeSeen[p]
}

// runsChanger tells whether what a command runs on every name changes files.
func (k *check) runsChanger(cmd int) bool {
	for i := cmd + 1; i < len(k.a.Commands); i++ {
		if c := &k.a.Commands[i]; slices.Contains(c.Via, k.a.Commands[cmd].Program) {
			return !effect.AnalyzeCommand(c.Text+" x", &effect.Options{Dir: c.Dir}).ReadOnly
		}
	}
	return true
}

// takesNames tells whether a command makes words of what it reads.
func takesNames(c effect.Command) bool {
	switch c.Program {
	case "xargs", "gxargs", "parallel", "read", "mapfile", "readarray":
		return true
	case "find", "fd", "fdfind":
		return slices.ContainsFunc(c.Args(), func(w wordT) bool {
			return strings.HasPrefix(w.Text, "-exec") || strings.HasPrefix(w.Text, "-ok") || w.Text == "-x" || w.Text == "-X" || w.Text == "--exec-batch" || w.Text == "--exec"
		})
	}
	return false
}

// runsText looks at the words, as far as they are known, of a command that runs
// them.
func (k *check) runsText(c *effect.Command) *Finding {
	switch {
	case isShell(c):
		text, ok := strings.CutPrefix(strings.TrimLeft(k.after(c), " "), "<<<")
		if text, _, _ = strings.Cut(text, "\n"); ok {
			return k.shapes(rawShape(text), c.Dir, c.Text)
		}
	case c.Program != "eval" && c.Program != "trap" && c.Program != "source" && c.Program != ".":
		return nil
	}
	for i := range c.Args() {
		if w := &c.Args()[i]; !w.Known {
			if f := k.word(w, c.Dir); f != nil {
				return f
			}
		}
	}
	return nil
}

// after returns the text behind a command.
func (k *check) after(c *effect.Command) string {
	if c.Span.End < 0 || c.Span.End > len(k.a.Source) {
		return ""
	}
	return k.a.Source[c.Span.End:]
}

// piped tells whether what a command prints goes to the next one.
func (k *check) piped(i int) bool {
	if i+1 >= len(k.a.Commands) {
		return false
	}
	text, next := k.after(&k.a.Commands[i]), k.a.Commands[i+1].Span.Start-k.a.Commands[i].Span.End
	if next < 0 || next > len(text) {
		return false
	}
	text = strings.Trim(text[:next], " \t\n&")
	return strings.HasSuffix(text, "|") && !strings.HasSuffix(text, "||") && !strings.ContainsAny(text, ";)")
}

// substituted tells whether what a command prints becomes part of another.
func (k *check) substituted(c *effect.Command) bool {
	if c.Span.Start < 0 || c.Span.Start > len(k.a.Source) {
		return true
	}
	if k.within == nil {
		k.within = inSubstitutions(k.a.Source)
	}
	return k.within[c.Span.Start]
}

// inSubstitutions tells of every offset of a text whether it is in $() or
// backquotes.
func inSubstitutions(src string) []bool {
	out := make([]bool, len(src)+1)
	depth, quoted := 0, false
	for i := range len(src) {
		out[i] = depth > 0 || quoted
		switch src[i] {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0) // one too many ends a pattern of case
		case '`':
			quoted = !quoted
		}
	}
	out[len(src)] = depth > 0 || quoted
	return out
}

// listers are programs that print the names of files.
var listers = []string{"ls", "find", "fd", "fdfind", "git", "grep", "egrep", "fgrep", "rg", "dir", "tree", "locate", "du", "stat", "compgen"}

// isLister tells whether a command prints the names of files that it finds.
func isLister(c *effect.Command) bool {
	switch {
	case !slices.Contains(listers, c.Program) || !c.ReadOnly && c.Program != "find" && c.Program != "fd" && c.Program != "compgen":
		return false
	case c.Program != "git":
		return true
	}
	_, sub, rest := gitWords(c)
	switch sub {
	case "ls-files", "ls-tree", "grep", "status":
		return true
	}
	return flag(rest, "--name-only", "--name-status", "--stat", "--numstat", "--raw")
}

// lists looks at a command that prints names of files, one of which may guard.
func (k *check) lists(i int) *Finding {
	c := &k.a.Commands[i]
	if !isLister(c) {
		return nil
	}
	from := []string{fold(c.Dir)}
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Kind == effect.Read && e.Path != "" {
			from = append(targets(e), from[1:]...)
		}
	}
	names, narrow := searched(c)
	for j := range k.items() {
		it := &k.items()[j]
		if it.common || !it.inUse && !k.exists(it.name) || narrow && !slices.ContainsFunc(names, func(p string) bool { return anySegment(p, it.path) }) {
			continue
		}
		if slices.ContainsFunc(from, func(p string) bool {
			return p != "" && (inside(p, it.path) || strings.ContainsAny(p, "*?[") && matchGlob(p, it.path, true))
		}) {
			return finding(it.name, it.what, c.Text)
		}
	}
	return nil
}

// maxList is how much of a list of names is looked at.
const maxList = 1 << 20

// prints looks at the files whose content a command prints, or that are
// redirected into it: a list of names may speak of what guards.
func (k *check) prints(i int) *Finding {
	if i >= 0 && isLister(&k.a.Commands[i]) {
		return nil
	}
	for j := range k.a.Effects {
		e := &k.a.Effects[j]
		if e.Command != i || e.Kind != effect.Read || e.Path == "" || e.Glob || e.Where != "" {
			continue
		}
		if f := k.named(e.Path); f != nil {
			return f
		}
	}
	if i < 0 || k.a.Commands[i].Program != "parallel" {
		return nil
	}
	c, lists := &k.a.Commands[i], false
	for _, w := range c.Args() {
		if strings.HasPrefix(w.Text, ":::") {
			lists = strings.HasPrefix(w.Text, "::::")
			continue
		}
		if p := k.resolve(c.Dir, w.Text); lists && w.Known && p.Abs != "" {
			if f := k.named(p.Abs); f != nil {
				return f
			}
		}
	}
	return nil
}

// named looks into a list of names.
func (k *check) named(name string) *Finding {
	text, size := k.content(name, maxList)
	switch {
	case size == 0:
		return nil // it cannot be read then either, or is a directory that is listed
	case size > maxList:
		return &Finding{Part: name, Why: "it would change files by what stands in " + name + ", which is too long to be looked at; it could name what guards this agent, and only a person allows that"}
	}
	if of := k.spoken(fold2(text)); of != "" {
		return &Finding{Part: name, Why: "it would change files by what stands in " + name + ", which speaks of " + of + "; what guards this agent is changed only with a person's answer"}
	}
	return nil
}

// content returns the text of a file and its size, 0 if there is nothing to be read; of
// one that is longer than most, only the size. Of a world that is not the machine nobody
// knows.
func (k *check) content(name string, most int64) (text string, size int64) {
	if _, real := k.world.(obstat.OS); !real {
		return "", 0
	}
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() {
		return "", 0
	}
	if st.Size() > most {
		return "", st.Size()
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", 0
	}
	return string(data), int64(len(data))
}

// makers are programs that make another text of what they are fed.
var makers = []string{"rev", "tr", "base64", "base32", "basenc", "xxd", "od", "openssl", "sed", "awk", "gawk", "mawk", "cut", "head", "tail", "paste", "fold", "perl", "python3",
	"python", "uudecode", "gunzip", "zcat", "jq", "iconv", "dc", "bc"}

// makes looks at a text in the call itself that becomes a name, or is made into
// one: a name that is written so can be meant to hide.
func (k *check) makes(i int) *Finding {
	c := &k.a.Commands[i]
	switch {
	case c.Program == "echo" || c.Program == "printf":
		for j := range c.Args() {
			if f := k.word(&c.Args()[j], c.Dir); f != nil {
				return f
			}
		}
		if !c.Known || len(c.Args()) == 0 || !k.piped(i) || !slices.Contains(makers, k.a.Commands[i+1].Program) && !puzzle(c) {
			return nil
		}
	case slices.Contains(makers, c.Program) || takesNames(*c):
		text, ok := strings.CutPrefix(strings.TrimLeft(k.after(c), " "), "<<")
		switch text = firstWord(text); {
		case !ok:
			return nil
		case takesNames(*c) && !strings.Contains(text, "$"):
			for _, s := range strings.Fields(rawShape(text)) {
				if f := k.partly(shell.Unknown+s+shell.Unknown, c.Dir, c.Text); f != nil {
					return f
				}
			}
			return nil
		case strings.ContainsAny(strings.ReplaceAll(text, "$'", ""), "$`"):
			return k.hints(rawShape(text), c)
		}
	default:
		return nil
	}
	return &Finding{Part: c.Text, Why: "the name of a file that it changes, or code that it runs, is made of a text in the command, and it cannot be seen which; it could change what guards this agent, and only a person allows that"}
}

// hints looks at names that are fed to a command, of which little may be known:
// one letter of a file that is there is enough.
func (k *check) hints(shape string, c *effect.Command) *Finding {
	if f := k.shapes(shape, c.Dir, c.Text); f != nil {
		return f
	}
	for _, s := range strings.Fields(shape) {
		p := k.shaped(s, c.Dir)
		for i := range k.items() {
			it := &k.items()[i]
			if p != "" && !it.common && (it.inUse || k.exists(it.name)) && common(p, it.path, strings.LastIndexByte(it.path, '/')+1, len(it.path)) > 0 {
				return guessed(it.name, it.what, c.Text)
			}
		}
	}
	return nil
}

// puzzle tells whether a text is printed in another form than it is written in.
func puzzle(c *effect.Command) bool {
	if c.Program == "echo" && !strings.HasPrefix(c.Args()[0].Text, "-") {
		return false
	}
	plain := strings.NewReplacer(`\n`, "", `\t`, "", `%s\n`, "", "%%", "").Replace(c.Args()[0].Text)
	if c.Program == "echo" {
		plain = c.Text
	}
	return strings.ContainsAny(plain, `\%`)
}
