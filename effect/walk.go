package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/internal/word"
	"github.com/obstat/obstat/shell"
)

// walk sorts the words from..to into flags and operands. head is the part before the
// subcommand: the program's own flags, and the subcommand's names, which are skipped.
func (c *call) walk(from, to int, head bool) {
	s := walker{call: c, spec: c.spec, to: to, head: head}
	if head {
		s.spec = c.root
	}
	s.flags = s.spec.style&styleNone == 0
	for i := from; i < to && c.rest < 0; i++ {
		if c.sub && !head && c.isName(i) {
			continue
		}
		if end := s.flag(i); end >= 0 {
			i = end
		} else if !head {
			i = s.operand(i)
		}
	}
}

// walker goes through the words of a command line.
type walker struct {
	*call
	spec   *spec
	to     int
	head   bool
	flags  bool // flags may follow
	expr   bool // find's expression has begun
	dashes bool // a `--` was passed that may belong to a wrapper
	place  int  // how far the fixed operands are used up
}

// flag takes word i as a flag, or as a word that ends them, and returns the last word used; -1 if it is neither.
func (s *walker) flag(i int) int {
	w, style := &s.words[i], s.spec.style
	plus := style&(stylePlus|stylePager) != 0 && strings.HasPrefix(w.Text, "+") && w.Known
	switch dashes := w.Text == "--" && w.Known; {
	case s.flags && dashes && style&styleFind == 0:
		s.flags = false
	case s.flags && s.number(w):
	case s.flags && word.IsFlag(w.Text):
		i = s.flagWord(s.spec, i, s.to)
		s.expr, s.flags = true, !s.ended
	case s.flags && plus:
		if style&stylePager != 0 && !startPlace(w.Text[1:]) {
			s.gap(NotPlain, "a command of the pager", w)
		}
	case !s.flags && dashes && !s.dashes && s.runsNext(s.place):
		s.dashes = true
	default:
		return -1
	}
	return i
}

// number reports whether a word is the number of lines, `head -$n f`.
func (s *walker) number(w *shell.Word) bool {
	if s.spec.number == 0 || w.Known || w.Text != "-" || w.Split && !s.outside(w) && !shell.IsNumber(w) {
		return false
	}
	return s.outside(w) || w.Shape() == "-"+shell.Unknown && shell.IsNumber(w)
}

// operand takes word i as an operand and returns the last word used.
func (s *walker) operand(i int) int {
	switch style := s.spec.style; {
	case style&styleFind != 0 && s.expr:
		s.expression(&s.words[i])
	case style&styleKV != 0 && s.keyValue(s.spec, i):
	case style&styleBSD != 0 && i == 1 && s.words[i].Known && s.bundle(s.spec, i, s.to):
		return s.skipped
	default:
		s.place = s.call.operand(i, s.place, s.flags, s.spec)
		s.flags = s.flags && style&styleStop == 0
	}
	return i
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
	if rest, ok := strings.CutPrefix(s, "/"); ok {
		return !strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' })
	}
	return word.AllDigits(s) || s == "F" || s == "G" || s == "g"
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
		if c.mayBeFlag(w) {
			c.openFlag(c.spec, w)
		}
		return
	}
	c.gap(UnknownFlag, "an argument that is not understood", w)
}

// operand takes word i as an operand; place is how far the fixed operands are used up.
func (c *call) operand(i, place int, flags bool, sp *spec) int {
	w := &c.words[i]
	if flags && c.mayBeFlag(w) && (!w.Known || sp.harmful) {
		c.openFlag(sp, w)
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

// namesFile reports whether a word that is known only at run time is the name of a file that was found: `*.go`, in a
// loop over it `$f`, or a line of `find .`. A file called like a flag counts only for flags that run something.
func (c *call) namesFile(w *shell.Word) bool {
	shape := w.Text
	if !w.Known {
		shape = w.Shape()
	}
	ext := strings.LastIndexByte(shape, '.')
	if ext > 0 && shape[0] == '*' && len(shape) > ext+1 && (w.Known || shell.IsName(w)) {
		return word.IsName(shape[ext+1:])
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

// isAddress reports whether a word is a variable that holds an address by its name: `psql "$DATABASE_URL"`.
func (c *call) isAddress(w *shell.Word) bool {
	name := strings.Trim(w.Raw, "\"${}")
	if w.Split || !strings.HasSuffix(name, "_URL") && !strings.HasSuffix(name, "_URI") {
		return false
	}
	assigned := strings.Contains(c.a.an.Source, name+"=") || slices.Contains(c.a.an.Assigned, name)
	return !assigned && (w.Raw == `"$`+name+`"` || w.Raw == `"${`+name+`}"`)
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
