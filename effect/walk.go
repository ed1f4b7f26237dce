package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/shell"
)

// walk sorts the words from..to into flags and operands. head is the part before the
// subcommand: the program's own flags, and the subcommand's names, which are skipped.
func (c *call) walk(from, to int, head bool) {
	sp := c.spec
	if head {
		sp = c.root
	}
	flags := sp.style&styleNone == 0
	expr := false // find: the expression has begun
	dashes := false
	place := 0
	for i := from; i < to && c.rest < 0; i++ {
		w := &c.words[i]
		switch {
		case c.sub && !head && c.isName(i):
		case flags && w.Text == "--" && w.Known && sp.style&styleFind == 0:
			flags = false
		case flags && isFlag(w.Text):
			i = c.flagWord(sp, i, to)
			expr = true
			flags = !c.ended
		case flags && sp.style&(stylePlus|stylePager) != 0 && strings.HasPrefix(w.Text, "+") && w.Known:
			if sp.style&stylePager != 0 && !startPlace(w.Text[1:]) {
				c.gap(NotPlain, "a command of the pager", w)
			}
		case !flags && w.Text == "--" && w.Known && !dashes && c.runsNext(place):
			dashes = true
		case head:
		case sp.style&styleFind != 0 && expr:
			c.expression(w)
		case sp.style&styleKV != 0 && c.keyValue(sp, i):
		case sp.style&styleBSD != 0 && i == 1 && w.Known && c.bundle(sp, i, to):
			i = c.skipped
		default:
			place = c.operand(i, place, flags, sp)
			if sp.style&styleStop != 0 {
				flags = false
			}
		}
	}
}

// isName reports whether word i is one of the subcommand's names.
func (c *call) isName(i int) bool {
	for k := range c.spec.words {
		if c.at[k] == i {
			return true
		}
	}
	return false
}

// runsNext reports whether the next operand is a program.
func (c *call) runsNext(place int) bool {
	return place < len(c.args) && runs(c.args[place].role)
}

// startPlace reports whether a pager's command only says where to begin: a line, the end, or
// a text to look for.
func startPlace(s string) bool {
	return allDigits(s) || s == "F" || s == "G" || s == "g" || strings.HasPrefix(s, "/") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
}

// expression checks a word of find's expression that is not a flag.
func (c *call) expression(w *shell.Word) {
	switch w.Text {
	case "(", ")", "!", ",":
		if w.Known {
			return
		}
	}
	if !w.Known || w.Glob {
		c.gap(DynamicOperand, "an argument is known only at run time", w)
		return
	}
	c.gap(UnknownFlag, "an argument that is not understood", w)
}

// operand takes word i as an operand; place is how far the fixed operands are used up.
func (c *call) operand(i, place int, flags bool, sp *spec) int {
	w := &c.words[i]
	if flags && couldBeFlag(w) && !c.noFlag(w) && !c.isAddress(w) {
		switch {
		case sp.runs && !w.Known:
			c.gap(DynamicFlag, "an argument that is known only at run time could be a flag that runs something", w)
		case (sp.harmful || sp.risky && !w.Known) && !c.namesFile(w):
			c.gap(DynamicOperand, "an argument that is known only at run time could be a flag", w)
		}
	}
	for place < len(c.args) {
		o := &c.args[place]
		switch o.role {
		case roleEnv:
			if o.many && isAssignment(w) {
				c.a.ops = append(c.a.ops, i)
				return place
			}
			place++
			continue
		case roleRun, roleRunMore, roleRest, roleRemote, roleParallel:
			c.rest = i
			return place
		}
		break
	}
	c.a.ops = append(c.a.ops, i)
	if place < len(c.args) && !c.args[place].many {
		place++
	}
	return place
}

// namesFile reports whether a word that is known only at run time is the name of a file that was found: `*.go`, in a loop
// over it `$f`, or a line of `find .`. That somebody calls a file like a flag counts only for flags that run something.
func (c *call) namesFile(w *shell.Word) bool {
	shape := w.Text
	if !w.Known {
		shape = w.Shape()
	}
	if ext := strings.LastIndexByte(shape, '.'); ext > 0 && shape[0] == '*' && len(shape) > ext+1 && (w.Known || shell.IsName(w)) {
		return isWord(shape[ext+1:])
	}
	return !w.Known && c.lister(w) != nil
}

// couldBeFlag reports whether a word may begin with a dash, or become several words.
func couldBeFlag(w *shell.Word) bool {
	if w.Known {
		return w.Glob && strings.IndexByte("*?[", w.Text[0]) >= 0
	}
	if w.Why == whyFound || strings.HasPrefix(w.Raw, "<(") || shell.IsPrinted(w) {
		return false
	}
	return w.Split || w.Text == "" || w.Text[0] == '-'
}

// isAddress reports whether a word is a variable of the environment that holds an address by its name: `psql "$DATABASE_URL"`.
func (c *call) isAddress(w *shell.Word) bool {
	name := strings.Trim(w.Raw, "\"${}")
	return !w.Split && (strings.HasSuffix(name, "_URL") || strings.HasSuffix(name, "_URI")) && (w.Raw == `"$`+name+`"` || w.Raw == `"${`+name+`}"`) &&
		!strings.Contains(c.a.an.Source, name+"=") && !slices.Contains(c.a.an.Assigned, name)
}

// isAssignment reports whether a program such as env takes a word for a variable; its name may be any text:
// `env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls`.
func isAssignment(w *shell.Word) bool { return strings.IndexByte(w.Text, '=') > 0 }

// keyValue takes an operand name=value as a flag.
func (c *call) keyValue(sp *spec, i int) bool {
	w := &c.words[i]
	eq := strings.IndexByte(w.Text, '=')
	if eq <= 0 {
		return false
	}
	f := sp.exactFlag(w.Text[:eq])
	if f == nil {
		return false
	}
	v := after(w, eq+1)
	c.met(f, &v, i)
	return true
}

// bundle takes a first operand such as `xzf` as flags; their values are the words after it.
func (c *call) bundle(sp *spec, i, to int) bool {
	w := &c.words[i]
	next := i
	var met letters
	for k := 0; k < len(w.Text); k++ {
		f := sp.shortFlag(w.Text[k])
		if f == nil {
			if k == 0 {
				return false
			}
			c.unlisted(i)
			continue
		}
		if f.arity == required && next+1 < to {
			next++
			c.met(f, &c.words[next], next)
		} else if !met.again(w.Text[k]) {
			c.met(f, nil, i)
		}
	}
	c.skipped = next
	return true
}
