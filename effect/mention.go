package effect

import (
	"iter"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/left"
	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// The knowledge base does not list every flag that reads or writes a file: `last -f .env`, `gpg --trustdb-name f`,
// `nm @.env`, `tar --transform 's,^,.git/hooks/,'`. A mention is a word, or a text on standard input, at a place of
// which nothing is said. If it names a file that a rule is about, the call is at most an ask. Where a place is
// known to be text, as the message of `git commit -m`, the knowledge base says `text`.

// mention notes a word of which the use is not said.
func (c *call) mention(at int, w *shell.Word) {
	text := w.Text
	if !w.Known {
		text = w.Shape()
	}
	if len(text) > maxPattern || !looksLikePath(text) || c.f.where != "" {
		return
	}
	cmd := &c.a.an.Commands[c.cmd]
	if n := len(cmd.Mentions); n > 0 && cmd.Mentions[n-1] == at {
		return
	}
	cmd.Mentions = append(cmd.Mentions, at)
	c.sensitive(Pieces(text, false), w)
}

// unplaced notes a word at a place that the knowledge base does not have: it may name a file or a host.
func (c *call) unplaced(at int) {
	c.mention(at, &c.words[at])
	c.mayConnect(&c.words[at])
}

// looksLikePath reports whether a text looks like more than a name or a revision: `HEAD~1` is no path.
func looksLikePath(text string) bool {
	return strings.ContainsAny(text, "./@%*?[") || strings.HasPrefix(text, "~")
}

// valueMention notes the value of a flag of which the use is not said, or that has the name of a file in it:
// `--from-file=key=f`.
func (c *call) valueMention(f *flag, val *shell.Word, at int) {
	switch f.role {
	case roleDefine:
	case roleText:
		if f.said || c.isTextFlag(f) {
			return
		}
	case roleRead, rolePeek, roleList, roleWrite:
		if !strings.ContainsAny(val.Text, "@=") && !strings.HasPrefix(val.Text, ":") { // `nim c -o:f`
			return
		}
	case roleDir: // `make -C .git/hooks`
		if !c.runsCode() {
			return
		}
	default:
		return
	}
	c.mention(c.wordOf(val, at), val)
}

// wordOf returns the place of a flag's value: that of the flag, or the next.
func (c *call) wordOf(val *shell.Word, at int) int {
	if val.Span != c.words[at].Span {
		at = min(at+1, len(c.words)-1)
	}
	return at
}

// runsCode reports whether the program runs code that is not looked into, as a build does.
func (c *call) runsCode() bool {
	return slices.ContainsFunc(c.spec.does, func(v deed) bool { return v.verb == doesCode })
}

var textFlags = kb.Table("!text-flags")

// isTextFlag reports whether one of the names of a flag says that its value is text.
func (c *call) isTextFlag(f *flag) bool {
	for sp := c.spec; sp != nil; sp = sp.parent {
		for i := range sp.long.list {
			if e := &sp.long.list[i]; &sp.flags[e.at] == f && e.name != "" && textFlags().Has(e.name) {
				return true
			}
		}
	}
	return false
}

// sensitive adds a gap if one of the parts of a word, or of a text, is a sensitive path.
func (c *call) sensitive(pieces []string, w *shell.Word) {
	for _, p := range pieces {
		if !c.a.afford(1) {
			return
		}
		if entry, ok := paths.Sensitive(p); ok && (entry.Secret || entry.Guarded) {
			c.gap(Mention, "a sensitive file is named, and its use is not known", w)
			return
		}
	}
}

// fedText notes the text that a program reads from standard input where nothing is said of that: commands of a
// program's own, as in `tnftp <<< '!cat .env'`.
func (c *call) fedText() {
	if c.spec.stdin != nil || c.harmlessSpec() || c.idle {
		return
	}
	c.a.fed(c.cmd, &c.f)
}

// fed notes the text that command cmd reads from standard input, where it is known.
func (a *analyzer) fed(cmd int, f *frame) {
	if f.script == nil || f.at < 0 || f.at >= len(f.script.Commands) || f.where != "" {
		return
	}
	w, known := left.Input(f.script, f.at)
	text := w.Text
	if !known {
		text = strings.ReplaceAll(w.Shape(), shell.Unknown, " ")
	}
	if strings.TrimSpace(text) != "" && a.afford(len(text)/bytesOfWork) {
		a.an.Fed = append(a.an.Fed, Text{Text: text, Command: cmd})
	}
}

// handed notes a variable that a program gets whose value may be a file: `LESSHISTFILE=f less a`.
func (a *analyzer) handed(as *shell.Assign, c *shell.Command, cmd int, f *frame) {
	value := as.Value.Text
	r := a.dict.variable(as.Name)
	fine := r != nil && (!r.harm || r.allows(value)) // `KUBECONFIG=~/.kube/dev kubectl get po`
	if len(c.Words) == 0 || cmd >= len(a.an.Commands) || fine || f.where != "" {
		return
	}
	// `BORG_PASSCOMMAND='rm x'`, `PGPASSFILE=.env`, `X_HOST=h.example`
	told := strings.ContainsAny(value, "/ ") || strings.HasPrefix(value, ".") || MayBeHost(value) != ""
	if as.Value.Known && told && len(value) < maxPattern {
		a.an.Fed = append(a.an.Fed, Text{Text: value, Command: cmd})
	}
}

// Pieces returns the parts of a word that may be a file: of `--from-file=a`, `src=a`, `@a`, `f@a`, `x=%a` and
// `-oa` it is a, of `s,^,a/,` it is a/. Of code also those in quotes or between blanks: `lookup("file", "a")`, `cat a`.
func Pieces(word string, code bool) []string {
	seps := inWord + shell.Unknown
	if code {
		seps += inCode
	}
	out := []string{word}
	if _, file, ok := strings.Cut(word, "file://"); ok {
		out = append(out, strings.TrimPrefix(file, "localhost"))
	}
	if substitution, ok := replacement(word); ok {
		out = append(out, substitution...)
	}
	if !strings.ContainsAny(word, seps) && !strings.HasPrefix(word, "-") {
		return out
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		out = append(out, word[2:])
		if at := strings.IndexAny(word, "./~"); at > 2 && at <= maxBundle { // `cscope -bf.git/x`, `nmap -oG.git/x`
			out = append(out, word[at:])
		}
	}
	return append(out, strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(seps, r) })...)
}

// inWord are the characters between the parts of a word that may be files, inCode those that code has besides.
const inWord, inCode = "=@,:%!#", "\"'`()[]{};|&<> \t\n"

// FileNames yields the parts of a text that may name files, and where they begin: those with a dot or a slash.
func FileNames(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			n := strings.IndexAny(text[at:], inWord+inCode)
			if n < 0 {
				n = len(text) - at
			}
			if part := text[at : at+n]; strings.ContainsAny(part, "./~") && !yield(at, part) {
				return
			}
			at += n + 1
		}
	}
}

// maxBundle is how far into a word the flags of one letter go that stand before a file.
const maxBundle = 5

// replacement returns the parts of substitutions as sed writes them: `a/` of `s|^|a/|` and of `s/^/a\//`.
func replacement(word string) (parts []string, ok bool) {
	if _, value, has := strings.Cut(word, "="); has && strings.HasPrefix(word, "-") {
		word = value
	}
	if len(word) < 4 || word[0] != 's' || !strings.ContainsRune("/|#,!:;+", rune(word[1])) {
		return nil, false
	}
	between := word[1:2]
	for part := range strings.SplitSeq(strings.ReplaceAll(word[2:], `\`+between, "\x01"), between) {
		parts = append(parts, strings.ReplaceAll(part, "\x01", between))
	}
	return parts, true
}
