package cli

import (
	"strconv"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/jsonx"
	"github.com/obstat/obstat/internal/tree"
)

// parseCall reads a call from one line of JSON. Unknown keys, keys given twice
// and known keys in other capitals are refused: what another reader of the same
// line would take for the tool must be the tool that was judged.
func parseCall(file string, line int, src []byte) (*obstat.Call, error) {
	f := dialect.File{Name: file, Data: src}
	n, problems := jsonx.Parse(src, jsonx.Options{NUL: true})
	if !tree.Fatal(problems) {
		problems = append(problems, n.Check(callFields()...)...)
	}
	var errs obstat.Errors
	if errs = f.Problems(problems); errs.Fatal() == nil {
		var c *obstat.Call
		if c, errs = callOf(&f, n); errs.Fatal() == nil {
			return c, nil
		}
	}
	onLine(errs, line)
	return nil, errs.Fatal()
}

func callFields() []tree.Field {
	text, texts := []tree.Kind{tree.String, tree.Null}, []tree.Kind{tree.Array, tree.Null}
	return []tree.Field{{Name: "tool", Kinds: []tree.Kind{tree.String}, Required: true}, {Name: "input"}, {Name: "subjects", Kinds: texts},
		{Name: "agent", Kinds: text}, {Name: "session", Kinds: text}, {Name: "user", Kinds: text}, {Name: "roles", Kinds: texts},
		{Name: "channel", Kinds: text}, {Name: "dir", Kinds: text}, {Name: "roots", Kinds: texts}, {Name: "mode", Kinds: text},
		{Name: "repeat", Kinds: []tree.Kind{tree.Number}}}
}

func callOf(f *dialect.File, n *tree.Node) (*obstat.Call, obstat.Errors) {
	var errs obstat.Errors
	text := func(key string) string {
		if v := n.Get(key); v.Is(tree.String) {
			return v.Str
		}
		return ""
	}
	texts := func(key string) (out []string) {
		v := n.Get(key)
		if !v.Is(tree.Array) {
			return nil
		}
		nodes, problems := v.Strings(key)
		errs = append(errs, f.Problems(problems)...)
		for _, e := range nodes {
			out = append(out, e.Str)
		}
		return out
	}
	c := &obstat.Call{Tool: text("tool"), Subjects: texts("subjects"), Agent: text("agent"), Session: text("session"), User: text("user"),
		Roles: texts("roles"), Channel: text("channel"), Dir: text("dir"), Roots: texts("roots"), Mode: obstat.Mode(text("mode"))}
	if v := n.Get("tool"); v.Str == "" {
		errs = append(errs, f.Problem(v.Start, obstat.CodeBadValue, "the call names no tool"))
	}
	if in := n.Get("input"); in != nil {
		c.Input = in.Source(f.Data)
	}
	if r := n.Get("repeat"); r != nil {
		var err error
		if c.Repeat, err = strconv.Atoi(r.Num); err != nil || c.Repeat < 0 {
			errs = append(errs, f.Problem(r.Start, obstat.CodeBadValue, "repeat should be a whole number from zero up"))
		}
	}
	return c, errs
}

// onLine moves errors to the line of a stream that their text is.
func onLine(errs obstat.Errors, line int) {
	for _, e := range errs {
		e.Pos.Line = line
		for i := range e.Also {
			e.Also[i].Line = line
		}
	}
}
