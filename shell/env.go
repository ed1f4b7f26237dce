package shell

import (
	"slices"
	"strings"
)

// limits that keep variable tracking small whatever the script does.
const (
	maxValue = 16 << 10 // longest value that is tracked
	maxShape = 2 << 10  // longest shape
	maxWhy   = 256      // longest reason that another variable's is added to
)

type varState uint8

const (
	varUnknown varState = iota // may have any value
	varKnown                   // text is the value
	varUnset                   // certainly not set
	varArray                   // elems are the values
)

// variable is the known part of a shell variable. The zero value knows nothing.
type variable struct {
	state varState
	text  string
	why   string
	shape string // of a value that is not known, if it has one
	elems []Word
	// outside: the script does not set it, or to values that are outside it alone.
	outside bool
	tilde   bool        // text starts with a tilde that the shell expanded on assignment
	glob    bool        // text is a pattern that some file name took the place of
	fns     []*function // for "f:name": the bodies that a call may run; certain if state is varKnown
	calc    bool        // integer attribute: assigned values are evaluated as arithmetic
}

// undo is one change of the environment, kept so that a subshell can be left
// and a branch can be weakened.
type undo struct {
	name string
	old  variable
	had  bool
	dir  *dirState // set: the change was to the directory, not to a variable
}

// dirState is the working directory, and those that `cd -` and `popd` go back to.
type dirState struct {
	cur    Word
	prev   *dirState
	stack  *dirState // popd returns here
	unsure bool      // a cd that may have failed lies before
}

// env is the simulated state of the shell: variables and directory.
// Every change is journalled.
type env struct {
	vars  map[string]variable
	log   []undo
	dir   *dirState
	given map[string]string // Options.Vars
	blind bool              // something ran that may have set any variable
	refs  bool              // a variable may stand for another: no value is certain any more
	moved bool              // the directory has been changed somewhere
	epoch int               // grows when a function is defined, removed or restored
}

func (e *env) mark() int { return len(e.log) }

func (e *env) set(name string, v variable) {
	if len(v.text) > maxValue || len(v.shape) > maxValue {
		v = variable{why: "a very long value"}
	}
	if e.refs && len(v.fns) == 0 {
		v = variable{why: "may stand for another variable", calc: v.calc}
	}
	old, had := e.vars[name]
	if old.calc && v.state != varUnset {
		v = variable{why: "arithmetic", calc: true}
	}
	if strings.HasPrefix(name, "f:") {
		e.epoch++
	}
	e.log = append(e.log, undo{name: name, old: old, had: had})
	if e.vars == nil {
		e.vars = make(map[string]variable)
	}
	e.vars[name] = v
}

func (e *env) setDir(d *dirState) {
	e.log = append(e.log, undo{dir: e.dir})
	e.dir = d
	e.moved = true
}

// get returns the value of a variable, as far as it is known.
func (e *env) get(name string) variable {
	if v, ok := e.vars[name]; ok {
		return v
	}
	if !e.blind {
		if text, ok := e.given[name]; ok && (name != "PWD" || e.dir.cur.Known && e.dir.cur.Text == "" && !e.dir.unsure) {
			return variable{state: varKnown, text: text}
		}
		if name == "IFS" {
			return variable{state: varKnown, text: " \t\n"}
		}
	}
	return variable{outside: !e.blind && !e.refs && (validName(name) || name == "@")}
}

// rollback leaves a subshell: everything since mark is undone.
func (e *env) rollback(mark int) {
	for i := len(e.log) - 1; i >= mark; i-- {
		u := &e.log[i]
		if strings.HasPrefix(u.name, "f:") {
			e.epoch++
		}
		switch {
		case u.dir != nil:
			e.dir = u.dir
		case u.had:
			e.vars[u.name] = u.old
		default:
			delete(e.vars, u.name)
		}
	}
	clear(e.log[mark:])
	e.log = e.log[:mark]
}

// weaken forgets every value that was changed since mark: the commands there may not have
// run, or have run more than once. keepDir says that a changed
// directory is kept and only marked as unsure. It returns how many changes it looked at.
func (e *env) weaken(mark int, why string, keepDir bool) int {
	n := len(e.log) - mark
	if n == 0 {
		return 0
	}
	e.compact(mark)
	for i := mark; i < len(e.log); i++ {
		u := &e.log[i]
		if u.dir != nil {
			e.weakenDir(u.dir, why, keepDir)
			continue
		}
		if v := e.vars[u.name]; v.state != varUnknown {
			e.vars[u.name] = variable{why: why, shape: v.text, calc: v.calc, fns: joinFns(v.fns, u.old.fns)}
		} else if strings.HasPrefix(v.why, whyPrinted) || strings.HasPrefix(v.why, LineOf) { // or its value before
			v.why = why
			e.vars[u.name] = v
		}
	}
	return n
}

// compact keeps only the first change of each variable since mark, which has the
// value to go back to.
func (e *env) compact(mark int) {
	tail := e.log[mark:]
	kept, dir := tail[:0], false
	var seen map[string]bool
	if len(tail) > 16 {
		seen = make(map[string]bool, 16)
	}
	for _, u := range tail {
		switch {
		case u.dir != nil:
			if dir {
				continue
			}
			dir = true
		case seen != nil:
			if seen[u.name] {
				continue
			}
			seen[u.name] = true
		case slices.ContainsFunc(kept, func(k undo) bool { return k.dir == nil && k.name == u.name }):
			continue
		}
		kept = append(kept, u)
	}
	clear(tail[len(kept):])
	e.log = e.log[:mark+len(kept)]
}

// weakenDir is weaken for the directory, whose change is already in the journal.
func (e *env) weakenDir(old *dirState, why string, keep bool) {
	switch {
	case old.cur.Known && e.dir.cur.Known && old.cur.Text == e.dir.cur.Text:
	case keep && !e.dir.unsure:
		d := *e.dir
		d.unsure = true
		e.dir = &d
	case !keep && e.dir.cur.Known:
		e.dir = &dirState{cur: Word{Why: "cd " + why}, unsure: true}
	}
}

// changes collects the variables changed since mark with their present values, and
// reports whether the directory changed.
func (e *env) changes(mark int, into *map[string]variable) (dir bool) {
	for i := mark; i < len(e.log); i++ {
		u := &e.log[i]
		if u.dir != nil {
			dir = true
			continue
		}
		if *into == nil {
			*into = make(map[string]variable)
		}
		v := e.vars[u.name]
		if was, ok := (*into)[u.name]; ok && len(was.fns) > 0 {
			v.fns = joinFns(v.fns, was.fns)
		}
		(*into)[u.name] = v
	}
	return dir
}

// forget drops every variable: something ran that can have set any of them.
func (e *env) forget(why string) {
	for name, v := range e.vars {
		e.set(name, variable{why: why, fns: v.fns})
	}
	e.blind = true
}
