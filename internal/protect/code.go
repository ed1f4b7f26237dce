package protect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// What code in other languages says when it removes or changes files, finds
// them, and runs a text that it has made.
var (
	removers = []string{"remove", "unlink", "rmtree", "rmdir", "rmsync", "delete", "rename", "truncate", "move(", "rm("}
	writers  = []string{"write", "'w'", "\"w\"", "'w+'", "\"w+\"", "'wb'", "\"wb\"", "'a'", "\"a\"", "copy", "print >", "print>", "dump("}
	walkers  = []string{"listdir(", "readdir", "scandir(", "os.walk(", "path('.')", "path(\".\")", "dir.children", "dir.each", "dir[", "glob(", "glob \"", "glob '", "<*"}
	decoders = []string{"b64decode", "fromhex", "unhexlify", "atob(", "base64", "unpack(", "pack(", "decode("}
	runners  = []string{"exec(", "eval(", "system(", "compile(", "function("}
)

func says(text string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// code looks into code of another language that stands in the call. It is not
// understood; what it says about files is looked at.
func (k *check) code(text, dir string) *Finding {
	t := strings.ToLower(text)
	if f := k.mentions(joined(text)); f != nil {
		return f
	}
	if says(t, decoders) && says(t, runners) {
		return &Finding{Part: clip(text), Why: "it runs code that is hidden in a text, which could change what guards this agent; only a person allows that"}
	}
	removes := says(t, removers)
	if !removes && !says(t, writers) {
		return nil
	}
	lists := says(t, walkers)
	for _, lit := range literals(text) {
		var f *Finding
		switch {
		case lists && strings.ContainsAny(lit, "*?"):
			f = k.changesAt(lit, dir, true)
		case lists && lit == ".", removes && len(lit) > 1 && strings.Contains(lit, "/"):
			f = k.changesAt(lit, dir, false)
		case strings.Contains(lit, ".") && len(lit) > 4:
			f = k.partly(shell.Unknown+lit, dir, lit)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// changesAt looks at a path that code may change, with all that is below it.
func (k *check) changesAt(p, dir string, glob bool) *Finding {
	at := k.resolve(dir, p)
	if at.Abs == "" || len(p) > maxPath {
		return nil
	}
	return k.changes(&effect.Effect{Kind: effect.Delete, Path: at.Abs, Real: at.Real, Raw: p, Glob: glob, Recursive: true, Command: -1})
}

// joined returns code with the texts put together that stand beside each other:
// 'a' + 'b' is ab.
func joined(code string) string {
	out := make([]byte, 0, len(code))
	for i := 0; i < len(code); i++ {
		if ch := code[i]; ch == '\'' || ch == '"' {
			j := i + 1
			for j < len(code) && strings.IndexByte(" \t.+&", code[j]) >= 0 {
				j++
			}
			if j > i+1 && j < len(code) && (code[j] == '\'' || code[j] == '"') {
				i = j
				continue
			}
		}
		out = append(out, code[i])
	}
	return string(out)
}

// literals returns the texts in quotes, and between <>, of a piece of code.
func literals(code string) []string {
	var out []string
	for i := 0; i < len(code) && len(out) < 256; i++ {
		shut := code[i]
		switch shut {
		case '\'', '"', '`':
		case '<':
			shut = '>'
		default:
			continue
		}
		end := strings.IndexByte(code[i+1:], shut)
		if end < 0 {
			continue
		}
		out = append(out, code[i+1:i+1+end])
		if shut != '>' {
			i += end + 1
		}
	}
	return out
}
