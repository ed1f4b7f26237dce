package protect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// fed looks at a call that changes files of which nothing is known, or runs code that it
// reads, and that has names or code from elsewhere: the files that another of its commands
// lists, `rm $(ls)`, or that stand in a file that it reads, `xargs rm < list`.
func (k *check) fed() *Finding {
	takes := false // a command makes words of what it reads
	fetches := false
	for i := range k.a.Commands {
		switch k.a.Commands[i].Program {
		case "curl", "wget", "aria2c":
			fetches = true
		case "xargs", "gxargs", "parallel", "read", "mapfile", "readarray", "sh", "bash":
			takes = true
		}
	}
	if !k.changesAny() {
		if fetches {
			return k.listed(false)
		}
		return nil
	}
	for i := range k.a.Commands {
		c := &k.a.Commands[i]
		if c.Nest&shell.InSubst == 0 && !(takes && c.Nest&shell.InPipe != 0) && !c.Wrapper {
			continue
		}
		if s, ok := k.a.Lists(i); ok {
			if f := k.touches(s, c.Text, there); f != nil {
				return f
			}
			continue
		}
		for j := range c.Args() {
			if w := &c.Args()[j]; c.Program == "echo" || c.Program == "printf" {
				if f := k.word(w, c.Dir); f != nil {
					return f
				}
			} else if isObstat(w.Text) && c.Program != "grep" {
				return finding(c.Text, isProgram, c.Text)
			}
		}
	}
	return k.listed(takes)
}

// changesAny tells whether the call changes files of which nothing is known, or runs code
// that comes from elsewhere.
func (k *check) changesAny() bool {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		switch {
		case e.Harmless || e.Where != "":
		case e.Kind == effect.Code:
			if e.Tags.Has(effect.Stdin) || !e.Certain || e.Tags.Has(effect.Inline) && e.Command >= 0 && !k.a.Commands[e.Command].Known {
				return true
			}
		case e.Kind == effect.Write || e.Kind == effect.Delete:
			if t := e.Target(); t.Text != "" && t.Text[0] == paths.AnyText {
				return true
			}
		}
	}
	for i := range k.a.Gaps {
		if k.a.Gaps[i].Kind == effect.DynamicCode {
			return true
		}
	}
	return false
}

// maxList is how long a list of names, or a script, is that is looked into.
const maxList = 256 << 10

// listed looks into the files that the call reads: their lines may be the names.
func (k *check) listed(takes bool) *Finding {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		if e.Kind != effect.Read || !e.Target().Exact() || e.Tags.Has(effect.List) {
			continue
		}
		if !takes && !downloads(k, e) && !e.Tags.Has(effect.Redirect) && (e.Command < 0 || k.a.Commands[e.Command].Nest&shell.InSubst == 0) {
			continue
		}
		if of := k.spoken(lower(k.content(e.Path, maxList))); of != "" {
			return &Finding{Part: e.Raw, Why: "it would change files by what stands in " + e.Path + ", which speaks of " + of + "; what guards this agent is changed only with a person's answer"}
		}
	}
	return nil
}

// downloads tells whether a file that is read says what is fetched, and how it is called.
func downloads(k *check, e *effect.Effect) bool {
	return e.Command >= 0 && slices.Contains([]string{"curl", "wget", "aria2c"}, k.a.Commands[e.Command].Program)
}

// maxScripts is how many scripts that run each other are looked into.
const maxScripts = 3

// script looks into the file that a command runs as code. A script of the shell is read
// like a command; in another language it counts if it changes files and names an item.
func (k *check) script(i int) *Finding {
	c, name := &k.a.Commands[i], ""
	for j := range k.a.Effects {
		if e := &k.a.Effects[j]; e.Command == i && e.Tags.Has(effect.Script) && e.Where == "" {
			name = e.Path
		}
	}
	if name == "" && strings.Contains(c.Path, "/") && !c.Catalogued {
		name = k.resolve(c.Dir, c.Path).Abs
	}
	if name == "" || k.depth >= maxScripts {
		return nil
	}
	text := k.content(name, maxList)
	if strings.IndexByte(text[:min(len(text), 512)], 0) >= 0 || k.spoken(lower(text)) == "" {
		return nil // a program, or one that speaks of nothing
	}
	first, _, _ := strings.Cut(text, "\n")
	if isShell(c) || c.Program == "source" || c.Program == "." || strings.HasPrefix(first, "#!") && strings.HasSuffix(strings.TrimSpace(first), "sh") {
		inner := *k.call
		inner.Tool, inner.Subjects, inner.Dir = "Bash", nil, c.Dir
		inner.Input, _ = json.Marshal(map[string]string{"command": text})
		a := effect.Analyze(&effect.Request{Tool: inner.Tool, Input: inner.Input, Options: effect.Options{Dir: inner.Dir, Roots: inner.Roots, FS: k.world}})
		if f := (&check{g: k.g, call: &inner, world: k.world, a: a, depth: k.depth + 1}).look(); f != nil {
			return &Finding{Part: name, Why: "of the script " + name + ": " + f.Why}
		}
		return nil
	}
	if !says(strings.ToLower(text), changing) {
		return nil
	}
	return &Finding{Part: name, Why: "it runs " + name + ", which changes files and speaks of " + k.spoken(lower(text)) + "; only a person allows that"}
}

// changing are words with which code in other languages changes files.
var changing = []string{"remove", "unlink", "rmtree", "rmdir", "rmsync", "delete", "rename", "truncate", "move(", "rm(", "write", "'w", `"w`, "'a'", `"a"`, "copy", "dump("}

// walkers are words with which it finds files.
var walkers = []string{"listdir(", "readdir", "scandir(", "os.walk(", "path('.')", `path(".")`, "dir.children", "dir.each", "dir[", "glob(", `glob "`, "glob '", "<*"}

func says(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// code looks into code of another language that stands in the call. It is not
// understood; the paths in quotes of code that changes files are looked at.
func (k *check) code(text, dir string) *Finding {
	if f := k.mentions(joined(text)); f != nil {
		return f
	}
	if !says(strings.ToLower(text), changing) {
		return nil
	}
	lists, removes := says(strings.ToLower(text), walkers), says(strings.ToLower(text), changing[:10])
	for i, lit := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("'\"`<>", r) }) {
		if i == 0 || len(lit) > maxPath || strings.ContainsAny(lit, "\n\x00 ;(") || !(lists && (lit == "." || strings.ContainsAny(lit, "*?"))) && !(removes && strings.Contains(lit, "/")) {
			continue
		}
		s := paths.Matching(k.resolve(dir, lit).Real)
		s.Below = true
		if f := k.touches(s, lit, there); f != nil {
			return f
		}
	}
	return nil
}

// joined returns code with the texts put together that stand beside each other:
// 'a' + 'b' is ab.
func joined(code string) string {
	for _, cut := range []string{"'+'", `"+"`, "' + '", `" + "`, "'.'", `"."`, `" "`, "' '", "' . '", `" . "`} {
		code = strings.ReplaceAll(code, cut, "")
	}
	return code
}
