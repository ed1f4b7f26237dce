package protect

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// effects looks at the paths that the call can be seen to change.
func (k *check) effects() *Finding {
	for i := range k.a.Effects {
		e := &k.a.Effects[i]
		if f := k.mounted(e); f != nil {
			return f
		}
		if k.spared(e) {
			continue
		}
		var f *Finding
		switch {
		case e.Kind == effect.Read:
			f = k.reads(e)
		case e.Kind != effect.Write && e.Kind != effect.Delete || e.Harmless:
		case found(e):
			f = k.found(e)
		default:
			f = k.changes(e)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// spared tells whether an effect is none on a file of this machine that could
// be seen: it is elsewhere (see commands), in git's index alone, or a guess about
// a tool that says it only reads.
func (k *check) spared(e *effect.Effect) bool {
	switch {
	case e.Where != "":
		return true
	case e.Command < 0:
		return (k.a.Tool.Canonical == "mcp" || k.a.Tool.Canonical == "") && onlyReads(k.call.Tool)
	case e.Program == "git" && e.Command < len(k.a.Commands):
		_, sub, rest := gitWords(&k.a.Commands[e.Command])
		how, _ := gitChanges(sub, rest)
		return sub == "restore" && how == "" && !e.Tags.Has(effect.Redirect)
	}
	return false
}

// targets returns where an effect leads, folded.
func targets(e *effect.Effect) []string {
	var out []string
	for _, p := range []string{e.Path, e.Real} {
		if p = fold(p); p != "" && p != "." && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// changes looks at one path that is written or removed.
func (k *check) changes(e *effect.Effect) *Finding {
	at := targets(e)
	if len(at) == 0 {
		if e.Raw != "" {
			if f := k.somewhere(fold(unquote(e.Raw)), e.Raw); f != nil {
				return f
			}
		}
		return k.partly(e.Shape(), k.dirOf(e.Command), e.Raw)
	}
	for _, p := range at {
		if f := k.hit(p, e.Raw, e.Glob, e.Kind == effect.Delete); f != nil {
			return f
		}
		if f := k.above(e, p); f != nil {
			return f
		}
	}
	return nil
}

// hit tells whether a path is an item or lies in one. gone: it is removed, which
// matters only where it is.
func (k *check) hit(p, part string, glob, gone bool) *Finding {
	return k.among(k.items(), p, part, glob, gone)
}

// among is hit for some of the items.
func (k *check) among(items []item, p, part string, glob, gone bool) *Finding {
	if e := named(p); e != nil && !glob {
		return finding(p, e.what, part)
	}
	for i := range items {
		it := &items[i]
		same := p == it.path || it.below && inside(it.path, p)
		if glob {
			same = matchGlob(p, it.path, false) || it.below && strings.HasPrefix(p, it.path+"/")
		}
		if !same || it.common && k.harmless(it) || glob && gone && !it.inUse && !k.exists(it.name) {
			continue
		}
		return finding(it.name, it.what, part)
	}
	return nil
}

// somewhere looks at a path from a directory that is not known.
func (k *check) somewhere(p, part string) *Finding {
	for strings.HasPrefix(p, "../") || strings.HasPrefix(p, "./") {
		_, p, _ = strings.Cut(p, "/")
	}
	if e := named(p); e != nil {
		return finding(p, e.what, part)
	}
	for i := range k.items() {
		if it := &k.items()[i]; it.inUse && p != "" && (it.path == p || strings.HasSuffix(it.path, "/"+p)) {
			return finding(it.name, it.what, part)
		}
	}
	return nil
}

// above looks at a change of a directory that an item is in.
func (k *check) above(e *effect.Effect, p string) *Finding {
	for i := range k.items() {
		it := &k.items()[i]
		if it.common || p == it.path {
			continue
		}
		if e.Glob && !matchGlob(p, it.path, true) || !e.Glob && !inside(p, it.path) {
			continue
		}
		var touched bool
		switch program(e) {
		case "mkdir", "touch":
		case "chmod", "chown", "chgrp", "chattr", "setfacl", "chcon", "xattr":
			touched = (e.Recursive || path.Dir(it.path) == p) && (it.inUse || k.exists(it.name))
		default:
			touched = e.Kind == effect.Delete && (it.inUse || k.exists(it.name)) || e.Kind == effect.Write && !e.Glob && k.into(e, p, it)
		}
		if touched {
			return finding(it.name, it.what, e.Raw)
		}
	}
	return nil
}

func program(e *effect.Effect) string { return fold(path.Base(e.Program)) }

// into tells whether something that is put into the directory p may be, or hold,
// an item.
func (k *check) into(e *effect.Effect, p string, it *item) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(it.path, strings.TrimSuffix(p, "/")+"/"), "/")
	if e.Command < 0 || e.Command >= len(k.a.Commands) {
		for i := range k.a.Effects {
			if base := path.Base(fold(k.a.Effects[i].Raw)); base == first {
				return true
			}
		}
		return false
	}
	if e.Tags.Has(effect.Redirect) {
		return false // a directory cannot be written to
	}
	home, _ := k.home()
	if !inside(p, fold(k.call.Dir)) && !inside(p, fold(home)) && (program(e) == "ln" || !k.world.IsDir(e.Path)) {
		return true // it takes the directory's place, with what it has in it
	}
	words := k.a.Commands[e.Command].Args()
	for i := range words {
		w := &words[i]
		if w.Text == "--no-target-directory" || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "T") && program(e) == "cp" {
			return true // a directory takes the place of another
		}
		if w.Span == e.Span || strings.HasPrefix(w.Text, "-") || w.Text == e.Raw {
			continue
		}
		if spreads(w) || segMatch(base(w.Text), first) {
			return true
		}
	}
	return e.Recursive && len(words) == 1
}

// spreads tells whether what a source has in it, and not the source by its name,
// is put into a directory, or whether that cannot be told.
func spreads(w *shell.Word) bool {
	t := w.Text
	return !w.Known || strings.HasSuffix(t, "/") || strings.HasSuffix(t, "/.") || t == "." || t == ".." || strings.HasSuffix(t, "/..")
}

// base is the last name of a path, an address or host:path.
func base(s string) string {
	s = strings.TrimRight(s, "/")
	return fold(s[strings.LastIndexAny(s, "/:")+1:])
}

// harmless tells whether an item with a name that is everybody's can be no
// policy: another one counts in its directory, or what is written is none.
func (k *check) harmless(it *item) bool {
	home, _ := k.home()
	dir := path.Dir(it.path)
	for i := range k.items() {
		p := &k.items()[i]
		if root := rootOf(p.path); p.what == isPolicy && root != fold(home) && inside(root, dir) {
			return p.path != it.path
		}
	}
	if k.a.Tool.Canonical != "write" {
		return false
	}
	policy := false
	var input any
	if json.Unmarshal(k.call.Input, &input) != nil {
		return false
	}
	walk(input, "", 0, func(_, s string) {
		policy = policy || strings.Contains(fold(s), "permission") || strings.Contains(s, `\`)
	})
	return !policy
}

// rootOf returns the directory that a policy file is the policy of.
func rootOf(p string) string {
	for i := range table() {
		if root, ok := strings.CutSuffix(p, "/"+table()[i].folded); ok && root != "" {
			return root
		}
	}
	return path.Dir(p)
}

// reads looks at what is read only to be changed later: a second name for a file,
// and the key that the ledger's digests are made with.
func (k *check) reads(e *effect.Effect) *Finding {
	links := e.Program == "ln" || e.Program == "link" || e.Program == "cp" && k.cpLinks(e)
	if links && e.Path == "" && e.Shape() != "" {
		return k.partly(e.Shape(), k.dirOf(e.Command), e.Raw)
	}
	for _, p := range targets(e) {
		if !links {
			if k.readsKey(p, e) {
				return &Finding{Part: e.Raw, Why: "it would read the key that the ledger is kept with; only a person allows that"}
			}
			continue
		}
		if f := k.hit(p, e.Raw, e.Glob, false); f != nil {
			return f
		}
		for i := range k.items() {
			if it := &k.items()[i]; !it.common && !e.Glob && inside(p, it.path) && p != "/" && (it.inUse || k.exists(it.name)) {
				return finding(it.name, it.what, e.Raw)
			}
		}
	}
	return nil
}

// keyName is what the name of a key ends with.
const keyName = ".db.key"

// readsKey tells whether a path that is read is the key, could be it, or is a
// directory of obstat's that is read with all that is in it.
func (k *check) readsKey(p string, e *effect.Effect) bool {
	if strings.HasSuffix(p, keyName) && k.hit(p, e.Raw, e.Glob, true) != nil {
		return true
	}
	if !e.Glob && !e.Recursive {
		return false
	}
	for i := range k.items() {
		it := &k.items()[i]
		key := it.path
		if it.what == isState && it.below {
			key += "/obstat" + keyName
		}
		switch {
		case !strings.HasSuffix(key, keyName):
		case e.Glob && matchGlob(p, key, e.Recursive), e.Recursive && it.below && p == it.path:
			return true
		}
	}
	return false
}

// cpLinks tells whether cp makes links instead of copies.
func (k *check) cpLinks(e *effect.Effect) bool {
	if e.Command < 0 || e.Command >= len(k.a.Commands) {
		return false
	}
	return slices.ContainsFunc(k.a.Commands[e.Command].Args(), func(w shell.Word) bool {
		return w.Text == "--link" || w.Text == "--symbolic-link" || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "ls")
	})
}
