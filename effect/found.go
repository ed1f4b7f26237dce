package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// foundHere gives what a search itself removes, as `find src -name '*.o' -delete` does, its place.
func (c *call) foundHere() {
	for i := range c.a.an.Effects {
		e := &c.a.an.Effects[i]
		if e.Command != c.cmd || !e.Tags.Has(Found) || e.Path != "" || e.Where != "" {
			continue
		}
		for _, i := range c.ops() {
			if c.name == "git" { // `git clean -x dist`
				c.startsAt(&c.words[i])
			}
		}
		if !c.hasFound {
			c.startsAt(&shell.Word{Text: ".", Known: true})
		}
		if e.at = c.found; e.at == "" && c.foundShape != "" {
			shape := c.foundShape
			e.shape, e.bound, e.Recursive = &shape, true, true
			continue
		}
		places := (&frame{found: or(e.at, "/"), starts: c.starts}).places()
		e.at, e.name = places[0], nameFilter(c.words)
		for more, k := *e, 1; k < len(places); k++ {
			more.at = places[k]
			c.a.effect(more)
		}
	}
}

// foundEffects adds an effect on what was found at each place that the search begins at.
func (c *call) foundEffects(e *Effect) {
	for _, at := range c.f.places() {
		e.Path, e.Real, e.Recursive, e.name, e.Glob = at, at, true, c.f.foundName, hasGlob(at)
		e.visible = c.f.noHidden && !e.Glob
		c.foundFrom(e)
		here := *e
		if e.Where != "" { // in a container: `docker run -v .:/w -w /w alpine sh -c 'find | xargs cat'`
			c.a.throughMounts(&here, &shell.Word{Text: at, Known: true}, &c.f)
		}
		c.a.effect(here)
		if !c.f.noLinks {
			c.a.foundLinks(&here)
		}
	}
}

// filesOnly reports whether a search passes links by: `find . -type f`, but not with an alternative or with -L, and `grep -r`.
func filesOnly(words []shell.Word) bool {
	files := words[0].Text == "rg" || words[0].Text == "grep" // which follow links only if they are told
	for i := range words {
		switch words[i].Text {
		case "-type":
			files = files || i+1 < len(words) && words[i+1].Known && words[i+1].Text == "f"
		case "-L", "-follow", "-o", "-or", ",", "!", "-not", "--follow", "--dereference-recursive":
			return false
		}
		if t := words[i].Text; words[0].Text == "grep" && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.Contains(t, "R") {
			return false
		}
	}
	return files
}

// foundLinks adds the links in the very directory that is searched: of `find . -name 'env*' -exec cat {} +` a link to
// .env is one.
func (a *analyzer) foundLinks(e *Effect) {
	fs, ok := a.opts.FS.(paths.Lister)
	if !ok || e.Path == "" || e.Glob || e.Where != "" || e.Kind == Delete {
		return
	}
	links, _, _ := fs.List(e.Path)
	for _, link := range links {
		if !a.afford(1) {
			return
		}
		if e.name == "" || paths.Matching(e.name).WithHidden().Has(link) {
			through := *e
			through.Recursive, through.name = false, ""
			a.throughLink(&through, fs, path.Join(e.Path, link), "")
		}
	}
}

// findsAll reports whether a listing has files of every name, hidden ones, too: `find . -type f`, `ls -A`.
func findsAll(words []shell.Word) bool {
	find := words[0].Text == "find"
	if !find && words[0].Text != "ls" {
		return false
	}
	hidden := find
	for i := range words[1:] {
		switch t := words[1+i].Text; {
		case !words[1+i].Known, find && (strings.HasSuffix(t, "name") || strings.HasSuffix(t, "path") || strings.HasSuffix(t, "regex")) && isFlag(t):
			return false
		case !find && len(t) > 1 && t[0] == '-' && t[1] != '-':
			hidden = hidden || strings.ContainsAny(t, "aA")
		}
	}
	return hidden
}

// showsAll reports whether a program prints all of a file, or much of it, and does not look for something in it.
func showsAll(name string) bool {
	return hasWord(" cat tac head tail less more bat batcat nl rev xxd od hexdump hd base64 base32 strings sed awk cut paste fold fmt tee ", name, ' ')
}

// holdsProject reports whether a directory is the top of the project, where its .env is, or above it.
func (a *analyzer) holdsProject(dir string) bool {
	return dir != "" && (paths.Inside(dir, a.opts.Dir) || slices.ContainsFunc(a.opts.Roots, func(root string) bool { return paths.Inside(dir, root) }))
}

// searches reports whether the program looks into the files of a directory, and takes a pattern of
// their names.
func (c *call) searches() bool {
	switch c.name {
	case "grep", "egrep", "fgrep", "rg":
		return true
	}
	return false
}

// hiddenGlob reports whether the first of some words begins a pattern for rg which hidden files may have, that are searched then:
// `-g '*'`, `--glob=.env`. One for files like `*.ts` is not such a pattern.
func hiddenGlob(words []shell.Word) bool {
	t, glob := words[0].Text, ""
	switch flag, value, attached := strings.Cut(t, "="); {
	case (flag == "--glob" || flag == "--iglob") && attached:
		glob = value
	case (t == "-g" || t == "--glob" || t == "--iglob") && len(words) > 1:
		glob = words[1].Text
	case strings.HasPrefix(t, "-g"):
		glob = strings.TrimPrefix(t[2:], "=")
	}
	if glob == "" || glob[0] == '!' {
		return false
	}
	name := path.Base(glob)
	ext := strings.TrimPrefix(name, "*.")
	for part := range strings.SplitSeq(strings.Trim(ext, "{}"), ",") {
		if ext != name && (len(part) > 4 || strings.EqualFold(part, "env") || !isWord(part)) {
			return true
		}
	}
	return ext == name && (name[0] > 127 || !isWordByte(name[0]))
}

// writesIgnored reports whether an effect changes what rg passes by: `echo '!.env' > .ignore`.
func writesIgnored(e Effect) bool { return e.Kind == Write && strings.HasSuffix(e.Raw, "ignore") }

// visibleOnly reports whether a search passes hidden files by, as `rg` does unless it is told.
func (a *analyzer) visibleOnly(words []shell.Word) bool {
	if words[0].Text != "rg" || strings.Contains(a.an.Source, "!") && slices.ContainsFunc(a.an.Effects, writesIgnored) {
		return false
	}
	for i := range words {
		switch t := words[i].Text; {
		case !words[i].Known, strings.HasPrefix(t, "--hid"), strings.HasPrefix(t, "--unr"), strings.HasPrefix(t, "--type-a"), strings.HasPrefix(t, "--ignore-f"), hiddenGlob(words[i:]):
			return false
		case len(t) > 1 && t[0] == '-' && t[1] != '-':
			if at := strings.IndexAny(t, "u.ABCdEefgjMmrTt"); at > 0 && (t[at] == 'u' || t[at] == '.') { // the rest of `-g*.rs` is a value
				return false
			}
		}
	}
	return true
}

// foundFrom gives a file that was found below a place that is not known what that looks like.
func (c *call) foundFrom(e *Effect) {
	if e.Path == "" && c.f.foundShape != "" {
		shape := c.f.foundShape
		e.shape, e.bound = &shape, true
	}
}

// nameFilter returns the one pattern of names that a search takes, "" if there are several or
// none, or if they are turned round. Of find's words only those before the first action count,
// and of a pattern without regard to case the letters are left open.
func nameFilter(words []shell.Word) string {
	name, find := "", words[0].Text == "find"
	for i := 1; i < len(words); i++ {
		t, value := words[i].Text, ""
		switch {
		case !words[i].Known, find && (t == "-o" || t == "-or" || t == ","):
			return ""
		case find && (t == "!" || t == "-not"): // which leaves less
			if i++; i+1 < len(words) && isFlag(words[i].Text) && !isFlag(words[i+1].Text) {
				i++
			}
			continue
		case find && (t == "-delete" || strings.HasPrefix(t, "-exec") || strings.HasPrefix(t, "-ok") || strings.HasPrefix(t, "-print") || strings.HasPrefix(t, "-fprint")):
			return name
		case find && (t == "-name" || t == "-iname"), !find && (t == "-g" || t == "--glob" || t == "--include"):
			if i++; i >= len(words) || !words[i].Known {
				return ""
			}
			if value = words[i].Text; t == "-iname" {
				value = strings.Map(openLetter, value)
			}
		case strings.HasPrefix(t, "--include="):
			value = t[len("--include="):]
		case words[0].Text == "git" && i > 1 && (words[1].Text == "ls-files" || words[1].Text == "diff" && words[i-1].Text == "--") && !isFlag(t):
			value = t
		case (words[0].Text == "fd" || words[0].Text == "fdfind") && (t == "-x" || t == "-X" || strings.HasPrefix(t, "--exec")):
			return name
		case words[0].Text == "fd" && (t == "-e" || t == "--extension") && i+1 < len(words) && words[i+1].Known:
			i++
			value = "*." + words[i].Text
		default:
			continue
		}
		if name != "" || strings.HasPrefix(value, "!") || strings.Contains(value, "/") {
			return ""
		}
		name = value
	}
	return name
}

func openLetter(r rune) rune {
	if r|0x20 >= 'a' && r|0x20 <= 'z' {
		return '?'
	}
	return r
}
