// Package floor holds the parts of the engine's floor that look at texts alone: where in a word or a
// file a command may begin, which of a set of paths a pattern is about.
//
// It owns no verdict: putting any of this to the rules is the engine's, whose insides it does not know.
package floor

import (
	_ "embed"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/obstat/obstat/shell"
)

//go:embed words.txt
var wordsText string

// words are the lists of words.txt: `runners: shell sh bash`, which indented lines go on with.
var words = sync.OnceValue(func() map[string][]string {
	out, name := map[string][]string{}, ""
	for line := range strings.Lines(wordsText) {
		if line[0] == '#' {
			continue
		}
		if head, rest, ok := strings.Cut(line, ": "); ok && line[0] != '\t' {
			name, line = head, rest
		}
		out[name] = append(out[name], strings.Fields(line)...)
	}
	return out
})

// MaxText bounds how much of a text counts as a command's arguments.
const MaxText = 256

// openers are the characters behind which a command may begin.
const openers = "\"'`([{;|&!=,"

// lineParts makes openers of characters before a command in a file: `web: rm x`, `<run>rm x`.
var lineParts = strings.NewReplacer(": ", ";", ">", ";")

// CommandsWritten yields the texts inside a file at which a command may begin: those of
// [CommandsIn], and the beginnings of lines, as `rm x` of `RUN rm x`, of `web: rm x` and of
// `//go:generate rm x`.
func CommandsWritten(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimLeft(line, " \t@-+")
			for _, word := range words()["before"] {
				line = strings.TrimPrefix(line, word+" ")
			}
			for found := range CommandsIn(";" + lineParts.Replace(line)) {
				if !seen[found] && !yield(found) {
					return
				}
				seen[found] = true
			}
		}
	}
}

// binaries makes openers of blanks before a program's full path, `ProxyCommand /bin/sh -i`, rsyslog's `^/bin/sh`, and
// of words that some programs have before a command: `-sOutputFile=%pipe%lpr`, `-monitor exec:sh`.
var binaries = strings.NewReplacer("%pipe%", ";", "exec:", ";", "system:", ";",
	"^/", ";/", " /bin/", ";/bin/", " /usr/bin/", ";/usr/bin/", " /sbin/", ";/sbin/",
	" /usr/sbin/", ";/usr/sbin/", " /usr/local/bin/", ";/usr/local/bin/")

// CommandsIn yields the texts inside a word at which a command may begin, behind a quote, a bracket,
// an equals sign or an operator: `rm x` of `System.cmd("rm", ["x"])`, `curl h` of `CC=curl h` and of
// `$(shell curl h)`.
func CommandsIn(word string) iter.Seq[string] {
	return func(yield func(string) bool) {
		word := binaries.Replace(word)
		for i := strings.IndexAny(word, openers); i >= 0 && i < len(word); {
			begin := len(word) - len(strings.TrimLeft(word[i+1:], openers+" \t\n"))
			end := len(word) - len(strings.TrimLeftFunc(word[begin:], isNameRune))
			name := word[begin:end]
			if slices.Contains(words()["runners"], name) {
				i = end // `$(shell curl h)`: the command is behind it
				continue
			}
			text := name[strings.LastIndexByte(name, '/')+1:] + " " + plainText(word[end:min(end+MaxText, len(word))])
			if name != "" && !yield(text) {
				return
			}
			next := strings.IndexAny(word[end:], openers)
			if next < 0 {
				return
			}
			i = end + next
		}
	}
}

func isNameRune(r rune) bool {
	return strings.ContainsRune("_-./+", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// plainText writes the arguments of a call in some language as a shell's words: ` -rf x` of
// `", ["-rf", "x"])`.
func plainText(text string) string {
	between := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`()[]{},;", r) }
	return strings.Join(strings.FieldsFunc(text, between), " ")
}

// IsOutput tells whether the name of a flag says that a word, behind it or in it, is written:
// `pytest --junitxml=report.xml`, `pandoc -o page.html`.
func IsOutput(args []shell.Word, i int) bool {
	flag := args[i].Text
	if !strings.HasPrefix(flag, "-") {
		if i == 0 || strings.Contains(args[i-1].Text, "=") {
			return false
		}
		flag = args[i-1].Text
	}
	name, _, _ := strings.Cut(strings.ToLower(flag), "=")
	list := words()
	if slices.Contains(list["output"], name) {
		return true
	}
	if slices.ContainsFunc(list["output-prefix"], func(p string) bool { return strings.HasPrefix(name, p) }) {
		return true
	}
	return strings.HasPrefix(name, "-") &&
		slices.ContainsFunc(list["output-part"], func(part string) bool { return strings.Contains(name, part) })
}
