package obstat

import "strings"

// The floor asks where a rule may apply to what is not known: `$x a.txt`, where `rm *` is denied.

// A doubt is whether a deny or ask rule may apply to what is not known, and which; a
// stage may, too, that has no rules.
type doubt struct {
	may  bool
	rule *Rule
}

// mayTighten tells whether a deny or ask rule could apply to a hidden part:
// any command, any file.
func (fl *floorWalk) mayTighten() doubt {
	qs := fl.questions(fl.f.Call.Tool, fl.field, "", "")
	if len(qs) == 0 {
		qs = []Question{{fl.f.Call.Tool, nil}}
	}
	for i := range qs {
		if d := fl.mayTightenTool(qs[i].Tool); d.may {
			return d
		}
	}
	for _, name := range sortedKeys(fl.pol.prog.Faces) {
		if d := fl.mayTightenTool(fl.pol.prog.Faces[name].Tool); d.may {
			return d
		}
	}
	return doubt{}
}

// mayTightenTool tells whether a deny or ask rule could apply to some call of a
// tool, whatever its subjects are.
func (fl *floorWalk) mayTightenTool(tool string) doubt {
	qs := []Question{{tool, []Subject{{anyField, ""}}}}
	if v, ok := fl.pol.view.(outliner); ok {
		qs = v.Outline(tool)
	}
	return fl.rulesMay(qs, qs)
}

// mayTightenCommand tells whether a deny or ask rule could apply to a command
// of which only a prefix is known.
func (fl *floorWalk) mayTightenCommand(prefix, dir string) doubt {
	if v, ok := fl.parts.(prefixView); ok {
		d := fl.rulesMay([]Question{v.Begins(fl.f, prefix)}, []Question{v.Begins(fl.f, prefix+placeholder)})
		if bare, open := strings.CutSuffix(prefix, " "); !d.may && open {
			return fl.withoutMore(bare, dir)
		}
		return d
	}
	may := fl.questions(fl.f.Call.Tool, fl.field, prefix, dir)
	must := fl.questions(fl.f.Call.Tool, fl.field, prefix+placeholder, dir)
	if len(may) == 0 || len(may) != len(must) {
		return doubt{may: true}
	}
	return fl.rulesMay(may, must)
}

// withoutMore tells whether a rule is about a command whose unknown words are none: `reboot $X`, where exactly
// `reboot` is denied.
func (fl *floorWalk) withoutMore(bare, dir string) doubt {
	o := fl.judge(fl.f.Call.Tool, fl.field, bare, dir)
	return doubt{o.verdict < Allow && o.rule != nil && fl.speaks(&o, fl.f.Call.Tool), o.rule}
}

// rulesMay tells whether a rule of the stages may say deny or ask to a question
// that starts like one of may.
func (fl *floorWalk) rulesMay(may, must []Question) doubt {
	s := &space{pol: fl.pol, present: true, facts: fl.f}
	for i := range may {
		if r, yes := s.stricter(fl.pl, &may[i], &must[i]); yes {
			return doubt{true, r}
		}
	}
	return doubt{}
}
