package policy

import (
	"encoding/json"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/native"
	"github.com/obstat/obstat/effect"
)

// aside tells whether p says only how commands are confined, and decides no call.
func (p *Policy) aside() bool {
	return native.Aside(p.Program)
}

// Confine returns which commands run confined by the policies in force, and in which limits. The
// accepted files say so, and those on disk tighten it: a file that is new, or that a
// call leads to, gives nothing.
func (f *InForce) Confine() native.Confine {
	var out, own *native.Confine
	var tighter []native.Confine
	var accepted []string       // places whose accepted word differs from the file's
	onDisk := map[string]bool{} // places whose files say one
	for _, p := range f.Policies {
		c, said := native.ConfineOf(p.Program)
		if said && p.OnDisk {
			onDisk[p.Place] = true
		} else if said && p.Accepted {
			accepted = append(accepted, p.Place)
		}
		switch {
		case !said:
		case !p.Accepted || p.Role == Inner:
			tighter = append(tighter, c)
		case p.Place == "":
			own = both(own, c)
		default:
			out = both(out, c)
		}
	}
	if own != nil && out != nil { // a project does not loosen the user's word
		tighter = append(tighter, *out)
		out = own
	} else if out == nil {
		out = own
	}
	gone := slices.ContainsFunc(accepted, func(place string) bool { return !onDisk[place] })
	if out == nil || gone || f.unusable() != "" || len(f.Broken) > 0 {
		return native.Confine{}
	}
	for _, c := range tighter {
		*out = out.Tighten(c)
	}
	return *out
}

func both(a *native.Confine, b native.Confine) *native.Confine {
	if a != nil {
		b = a.Tighten(b)
	}
	return &b
}

// Undo returns how much of the files that calls change is kept, by the policies that a person has accepted: one that
// is new could shorten it no less than lengthen it. The user's word goes before a project's.
func (f *InForce) Undo() native.Undo {
	var own, here native.Undo
	for _, p := range f.Policies {
		u, said := native.UndoOf(p.Program)
		switch {
		case !said || !p.Accepted || p.Role == Inner:
		case p.Place == "":
			own = own.Or(u)
		default:
			u.Budget = 0 // of all projects
			here = here.Or(u)
		}
	}
	return own.Or(here)
}

func confineText(p *obstat.Program) string {
	if c, said := native.ConfineOf(p); said {
		return "confine: " + c.String()
	}
	return ""
}

func undoText(p *obstat.Program) string {
	if u, said := native.UndoOf(p); said {
		return "undo: " + u.String()
	}
	return ""
}

// wordChange tells how a word such as `confine:` differs between two Programs; nil is none.
func wordChange(name string, text func(*obstat.Program) string, old, new *obstat.Program) (Change, bool) {
	var before, after string
	if old != nil {
		before = text(old)
	}
	if new != nil {
		after = text(new)
	}
	switch {
	case before == after:
		return Change{}, false
	case before == "":
		return Change{Kind: Added, Dialect: name, Text: after}, true
	case after == "":
		return Change{Kind: Removed, Dialect: name, Text: before}, true
	}
	return Change{Kind: Changed, Dialect: name, Text: after + ", was " + before}, true
}

// The fallbacks of faces that a dialect does not have.
var commonFaces = map[string]obstat.Face{
	obstat.FaceRead:    {Tool: "Read", Field: "file_path"},
	obstat.FaceWrite:   {Tool: "Write", Field: "file_path"},
	obstat.FaceDelete:  {Tool: "Delete", Field: "file_path"},
	obstat.FaceConnect: {Tool: "WebFetch", Field: "url"},
}

// Touch puts one thing that code may do to all policies in force: to read, write or delete a path,
// or to connect to a host (`obstat.FaceRead`, ...). Each policy is asked in the words of its own
// rules, as if its agent's own tool did it; the strictest answer counts.
func (f *InForce) Touch(call *obstat.Call, face, target string, world obstat.World) Ruling {
	return f.decide(call, func(p *Policy, c *obstat.Call) (obstat.Decision, *obstat.Trace) {
		as := p.faceOf(face)
		c.Tool = as.Tool
		c.Input, _ = json.Marshal(map[string]string{as.Field: target}) // texts
		return p.Loaded.Policy.Decide(c, world), nil
	})
}

// faceOf returns the tool by which p's rules speak of reading, writing, deleting or connecting.
func (p *Policy) faceOf(face string) obstat.Face {
	out, ok := p.Program.Faces[face]
	if !ok && face == obstat.FaceDelete {
		out, ok = p.Program.Faces[obstat.FaceWrite]
	}
	if !ok {
		return commonFaces[face]
	}
	fields := effect.MainFields(out.Tool)
	for _, name := range fields {
		if name == out.Field {
			return out
		}
	}
	if len(fields) > 0 { // the native language names a subject, not a field
		out.Field = fields[0]
	}
	return out
}
