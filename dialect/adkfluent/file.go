package adkfluent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/textedit"
	"github.com/obstat/obstat/internal/tree"
)

// The keys of a policy file.
const (
	keyMode          = "mode"
	keyAllow         = "allow"
	keyDeny          = "deny"
	keyAsk           = "ask"
	keyAllowPatterns = "allow_patterns"
	keyDenyPatterns  = "deny_patterns"
	keyAskPatterns   = "ask_patterns"
	keyPatternMode   = "pattern_mode"
	keyMutating      = "mutating_tools"
)

func fields() []tree.Field {
	list, word := []tree.Kind{tree.Array}, []tree.Kind{tree.String}
	return []tree.Field{
		{Name: keyMode, Kinds: word}, {Name: keyAllow, Kinds: list}, {Name: keyDeny, Kinds: list}, {Name: keyAsk, Kinds: list},
		{Name: keyAllowPatterns, Kinds: list}, {Name: keyDenyPatterns, Kinds: list}, {Name: keyAskPatterns, Kinds: list},
		{Name: keyPatternMode, Kinds: word}, {Name: keyMutating, Kinds: list},
	}
}

// Parse reads a policy file, JSON or YAML by its name or else by its first
// character. Problems come all at once, each with its place.
func Parse(name string, data []byte) (*Policy, error) {
	p := parse(&dialect.File{Name: name, Data: data})
	if err := p.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// document reads f as the format it is written in.
func document(f *dialect.File) (*tree.Node, []tree.Problem) { return format(f).Parse(f.Data) }

// format tells a file's format by its name, or else by its first character.
func format(f *dialect.File) textedit.Format {
	switch path.Ext(f.Name) {
	case ".json":
		return textedit.JSON
	case ".jsonc":
		return textedit.JSONC
	case ".yaml", ".yml":
		return textedit.YAML
	}
	if bytes.HasPrefix(bytes.TrimLeft(f.Data, " \t\r\n"), []byte("{")) {
		return textedit.JSON
	}
	return textedit.YAML
}

// A reader makes a policy of one file.
type reader struct {
	*Policy
	f *dialect.File
	// nodes finds an entry's source again, for positions within it.
	nodes map[obstat.Pos]*tree.Node
}

// parse returns a policy with the file's problems in it.
func parse(f *dialect.File) *Policy {
	r := &reader{&Policy{mode: ModeDefault, patternMode: Glob}, f, map[obstat.Pos]*tree.Node{}}
	root, problems := document(f)
	r.errs = f.Problems(problems)
	if tree.Fatal(problems) {
		return r.Policy
	}
	if root.Is(tree.Null) {
		r.errs = append(r.errs, f.Problem(0, obstat.CodeMissing, "the file is empty; write {} for a policy that asks for everything"))
		return r.Policy
	}
	if bad := root.Check(fields()...); len(bad) > 0 {
		r.errs = append(r.errs, f.Problems(bad)...)
	}
	if root.Is(tree.Object) {
		r.read(root)
	}
	r.errs.Sort()
	return r.Policy
}

func (r *reader) read(root *tree.Node) {
	if n := root.Get(keyMode); n.Is(tree.String) {
		r.mode = obstat.Mode(n.Str)
	}
	if n := root.Get(keyPatternMode); n.Is(tree.String) {
		r.patternMode = PatternMode(n.Str)
	}
	r.checkWords(r.pos(root.Get(keyMode)), r.pos(root.Get(keyPatternMode)))
	r.names = lists{r.nameList(root, keyAllow), r.nameList(root, keyDeny), r.nameList(root, keyAsk)}
	r.patterns = lists{r.patternNodes(root, keyAllowPatterns), r.patternNodes(root, keyDenyPatterns), r.patternNodes(root, keyAskPatterns)}
	r.mutating = DefaultMutatingTools()
	if root.Get(keyMutating) != nil {
		r.mutating = sortedSet(texts(r.nameList(root, keyMutating)))
	}
	r.checkPatterns(r.within)
}

func (r *reader) pos(n *tree.Node) obstat.Pos {
	if n == nil {
		return obstat.Pos{File: r.f.Name}
	}
	return r.f.Pos(n.Start)
}

// nameList returns a list of names as a sorted set.
func (r *reader) nameList(root *tree.Node, key string) []entry {
	list := root.Get(key)
	if !list.Is(tree.Array) {
		return nil
	}
	nodes, problems := list.Strings(key)
	r.errs = append(r.errs, r.f.Problems(problems)...)
	var out []entry
	for _, n := range nodes {
		out = append(out, entry{text: n.Str, pos: r.pos(n), layer: r.f.Layer})
	}
	slices.SortStableFunc(out, byText)
	return slices.CompactFunc(out, func(a, b entry) bool { return a.text == b.text })
}

// patternNodes returns a list of patterns: texts, read as pattern_mode says, or
// objects of one key that say for themselves: {"glob": ...}, {"regex": ...}.
func (r *reader) patternNodes(root *tree.Node, key string) []entry {
	list := root.Get(key)
	if !list.Is(tree.Array) {
		return nil
	}
	var out []entry
	for i, n := range list.Elems {
		how, text := r.patternMode, n
		if n.Is(tree.Object) && len(n.Members) == 1 {
			how, text = PatternMode(n.Members[0].Key), n.Members[0].Value
		}
		if !text.Is(tree.String) || n.Is(tree.Object) && how != Glob && how != Regex {
			e := r.f.Problem(n.Start, obstat.CodeWrongType, "%s[%d] should be a text, or an object with the one key glob or regex, not %s", key, i, n.Kind)
			e.Hint = `write "read_*", {"glob": "read_*"} or {"regex": "read_.*"}`
			r.errs = append(r.errs, e)
			continue
		}
		if how != Glob && how != Regex {
			continue // checkWords has said so, once
		}
		e := entry{text: text.Str, how: how, pos: r.pos(text), layer: r.f.Layer}
		r.nodes[e.pos] = text
		out = append(out, e)
	}
	return out
}

// within returns the place of a byte of an entry's text.
func (r *reader) within(e *entry, offset int) obstat.Pos {
	return r.f.Within(r.nodes[e.pos], offset)
}

// MarshalJSON writes the policy as a file holds it; it reads back as the same
// policy. Refiners are code and are not in it.
func (p *Policy) MarshalJSON() ([]byte, error) {
	if err := p.Err(); err != nil {
		return nil, fmt.Errorf("a policy with an error has no written form: %w", err)
	}
	return json.Marshal(struct {
		Mode          obstat.Mode `json:"mode"`
		Allow         []string    `json:"allow"`
		Deny          []string    `json:"deny"`
		Ask           []string    `json:"ask"`
		AllowPatterns []any       `json:"allow_patterns"`
		DenyPatterns  []any       `json:"deny_patterns"`
		AskPatterns   []any       `json:"ask_patterns"`
		PatternMode   PatternMode `json:"pattern_mode"`
		Mutating      []string    `json:"mutating_tools"`
	}{p.mode, texts(p.names.allow), texts(p.names.deny), texts(p.names.ask),
		p.written(p.patterns.allow), p.written(p.patterns.deny), p.written(p.patterns.ask), p.patternMode, append([]string{}, p.mutating...)})
}

// written gives a pattern of the other mode than the policy's its own word.
func (p *Policy) written(list []entry) []any {
	out := make([]any, len(list))
	for i, e := range list {
		if out[i] = e.text; e.how != p.patternMode {
			out[i] = map[PatternMode]string{e.how: e.text}
		}
	}
	return out
}
