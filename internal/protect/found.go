package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
	"github.com/obstat/obstat/shell"
)

// found tells whether an effect is on files that another command finds: by find
// -exec, or by what xargs is fed.
func found(e *effect.Effect) bool { return e.Recursive && !e.Certain && (e.Raw == "" || e.Raw == "{}") }

// formatters are programs that write a file only if it is source of their own
// language, which nothing that guards is.
var formatters = []string{"gofmt", "goimports", "gofumpt", "rustfmt", "clang-format", "shfmt", "ocamlformat", "zig"}

// found looks at a change of whatever is found below a directory. It counts
// where an item is there that the search may find.
func (k *check) found(e *effect.Effect) *Finding {
	if slices.Contains(formatters, program(e)) {
		return nil
	}
	from := targets(e)
	if reads := k.readBefore(e); len(reads) > 0 {
		from = reads
	}
	for i := range k.a.Commands {
		if c := &k.a.Commands[i]; c.Program == "git" && c.Span.Start < e.Span.Start && isLister(c) {
			from = append(from, fold(c.Dir)) // its operands, if any, are names
		}
	}
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		for j := range c.Args() {
			if len(from) > 0 || c.Program != "find" {
				break
			}
			if f := k.word(&c.Args()[j], c.Dir); f != nil {
				return f
			}
		}
	}
	for i := range k.items() {
		it := &k.items()[i]
		if it.common || !it.inUse && !k.exists(it.name) {
			continue
		}
		for _, p := range from {
			if inside(p, it.path) && k.finds(e.Span.Start, it) || strings.ContainsAny(p, "*?[") && matchGlob(p, it.path, true) {
				return finding(it.name, it.what, "")
			}
		}
	}
	return nil
}

// readBefore returns what the commands before an effect look at.
func (k *check) readBefore(e *effect.Effect) []string {
	var out []string
	for i := range k.a.Effects {
		if r := &k.a.Effects[i]; r.Kind == effect.Read && r.Span.Start < e.Span.Start && r.Where == "" {
			out = append(out, targets(r)...)
		}
	}
	return out
}

// finds tells whether one of the searches before a place may find an item. A
// search whose names cannot be told finds everything.
func (k *check) finds(before int, it *item) bool {
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		if c.Span.Start >= before {
			break
		}
		names, known := searched(c)
		if !known {
			continue
		}
		for _, pattern := range names {
			if anySegment(pattern, it.path) {
				return true
			}
		}
		return false
	}
	return true
}

func anySegment(pattern, p string) bool {
	if strings.Contains(pattern, "/") {
		pattern = path.Base(pattern)
	}
	for seg := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if segMatch(pattern, seg) {
			return true
		}
	}
	return false
}

// searched returns the patterns of names that a command searches for, and
// whether it can be told that there are no others.
func searched(c *effect.Command) (names []string, known bool) {
	words := c.Args()
	for i := range words {
		w := &words[i]
		if !w.Known {
			return nil, false
		}
		switch c.Program {
		case "find":
			switch w.Text {
			case "-name", "-iname":
				if i+1 < len(words) {
					names = append(names, fold(words[i+1].Text))
				}
			case "!", "-not", "-o", "-or", ",":
				return nil, false
			}
		case "grep", "egrep", "fgrep", "rg":
			names = append(names, included(words, i)...)
		case "git":
			if i > 0 && words[0].Text == "ls-files" && !strings.HasPrefix(w.Text, "-") {
				names = append(names, fold(w.Text))
			}
		}
	}
	return names, len(names) > 0
}

// included returns the value of a flag that names what a search looks at.
func included(words []shell.Word, i int) []string {
	if v, ok := strings.CutPrefix(words[i].Text, "--include="); ok {
		return []string{fold(v)}
	}
	switch words[i].Text {
	case "-g", "--glob", "--include":
		if i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "!") {
			return []string{fold(words[i+1].Text)}
		}
	}
	return nil
}

// fd looks at fd with a command for what it finds: its pattern is an expression.
func (k *check) fd(c *effect.Command) *Finding {
	if c.Program != "fd" && c.Program != "fdfind" || !takesNames(*c) {
		return nil
	}
	words, suffix, search := c.Args(), "", ""
	for i := 0; i < len(words); i++ {
		switch t := words[i].Text; {
		case t == "-x" || t == "-X" || strings.HasPrefix(t, "--exec"):
			run := ""
			for _, w := range words[i+1:] {
				run += w.Text + " "
			}
			if effect.AnalyzeCommand(run+"x", nil).ReadOnly {
				return nil
			}
			i = len(words)
		case (t == "-e" || t == "--extension") && i+1 < len(words):
			i++
			suffix = fold("." + words[i].Text)
		case !strings.HasPrefix(t, "-") && search == "":
			search = t
		}
	}
	re, err := pattern.Compile(pattern.Search, "(?i)"+search)
	for i := range k.items() {
		it := &k.items()[i]
		if it.common || !it.inUse && !k.exists(it.name) || !inside(fold(c.Dir), it.path) || !strings.HasSuffix(it.path, suffix) {
			continue
		}
		hit := err != nil
		if !hit {
			hit, err = re.Match(path.Base(it.path))
		}
		if hit || err != nil {
			return finding(it.name, it.what, c.Text)
		}
	}
	return nil
}
