package opencode

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/paths"
)

// params are the settings of a configuration that the view needs.
type params struct {
	Order Order `json:"order"`
	// Floor: the floor is on, so places that the program does not look at are asked
	// about as well.
	Floor bool `json:"floor,omitempty"`
	// Named are permissions of the rules that are none of opencode's own: tools of MCP
	// servers, which other agents spell otherwise.
	Named []string `json:"named,omitempty"`
	// Absolute are the beginnings of absolute patterns that deny or ask about files. The
	// program has paths from the worktree alone, where such a rule never matches: with the floor
	// on, it is about the files it names.
	Absolute []string `json:"absolute,omitempty"`
	// Prefixed: a rule has a variable in front of a command, `CI=1 npm *`.
	Prefixed bool `json:"prefixed,omitempty"`
}

func readParams(raw json.RawMessage) (params, error) {
	p := params{Order: Last, Floor: true}
	if len(raw) == 0 {
		return p, nil
	}
	p.Floor = false
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("the parameters of the view cannot be read: %w", err)
	}
	if p.Order != First && p.Order != Last {
		return p, fmt.Errorf("there is no order %q", p.Order)
	}
	return p, nil
}

// A view turns a call into its tool's asks: a permission and a pattern each.
type view struct{ params }

var (
	_ kit.Outliner     = view{}
	_ kit.SpellingView = view{}
)

func newView(raw json.RawMessage) (obstat.View, error) {
	p, err := readParams(raw)
	return view{p}, err
}

// Questions returns the questions that a call poses to the rules.
func (v view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	asks, err := v.asks(f, false)
	if err != nil {
		return nil, err
	}
	var out []obstat.Question
	for i := range asks {
		for _, p := range asks[i].Patterns {
			out = append(out, question(asks[i].Permission, p))
		}
	}
	return out, nil
}

// Command leaves it to the floor to put a part of a command as a call of its own.
func (v view) Command(*obstat.Facts, int) ([]obstat.Question, bool) { return nil, false }

// File asks about a file as one of opencode's own file tools would, in the program's order.
func (v view) File(f *obstat.Facts, tool, p, real string) ([]obstat.Question, bool) {
	ways, ok := v.Spellings(f, tool, p, real)
	return slices.Concat(ways...), ok
}

// Spellings asks about a file as a file tool would, and once more as `./.env` or `~/.env` for
// rules that begin with a star or a home directory: as it is written, `*/.env` is not about the file
// at the top. Another agent's file tool asks as opencode's does.
func (v view) Spellings(f *obstat.Facts, tool, p, real string) ([][]obstat.Question, bool) {
	if t, known := effect.Lookup(tool); v.Floor && known && !t.Shell() { // another agent's, or multiedit
		tool = ownTools[t.Canonical]
	}
	if v.Order != Last || tool != "read" && tool != "write" && tool != "edit" {
		return nil, false
	}
	perm, home := tools()[tool].permission, ""
	if real == "" {
		real = p
	}
	if f.World != nil {
		home, _ = f.World.Home("")
	}
	c := &callView{params: v.params, f: f, part: true}
	patterns := c.places(p, real, false)
	qs := make([]obstat.Question, 0, len(c.dirs.texts)+len(patterns)+1)
	for _, dir := range c.dirs.texts {
		qs = append(qs, question(permExternal, dir))
	}
	for _, text := range patterns {
		qs = append(qs, question(perm, text))
	}
	ways := append(make([][]obstat.Question, 0, 3), qs)
	if rel := patterns[0]; rel != ".." && !strings.HasPrefix(rel, "../") {
		ways = append(ways, []obstat.Question{question(perm, "./"+rel)})
	} else if home != "" && paths.Inside(home, p) {
		ways = append(ways, []obstat.Question{question(perm, "~"+strings.TrimPrefix(p, path.Clean(home)))})
	}
	for _, at := range [...]string{p, real} {
		if v.absolute(at) {
			ways = append(ways, []obstat.Question{question(perm, at)})
		}
	}
	return ways, true
}

// absolute tells whether a rule with an absolute pattern may be about a path, of which marks of
// a set, and all behind them, are not known.
func (v view) absolute(p string) bool {
	if i := strings.IndexFunc(p, func(r rune) bool { return r > unicode.MaxLatin1 }); i >= 0 {
		p = p[:i]
	}
	return slices.ContainsFunc(v.Absolute, func(known string) bool {
		return strings.HasPrefix(p, known) ||
			strings.HasPrefix(known, p)
	})
}

func question(permission, pattern string) obstat.Question {
	return obstat.Question{Tool: permission, Subjects: []obstat.Subject{{Field: fieldPattern, Text: pattern}}}
}

// Outline returns the questions of any call to a tool, but for those about directories outside
// and repetition: a tool that is denied stays denied whatever those say.
func (v view) Outline(tool string) []obstat.Question {
	t, known := tools()[tool]
	if !known {
		return []obstat.Question{question(sanitize(tool), "")}
	}
	return []obstat.Question{question(t.permission, "")}
}
