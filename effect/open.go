package effect

import (
	"slices"
	"strings"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

// A word that is not wholly known may be any flag of its program, with any value: `git log --$(echo output)=f`,
// `find . ${X:--exec} rm {} +`, `sort "$o" a` behind `read o`. It is none behind `--`, as the value of another
// flag unless it may be split, and where the command that prints it prints no flags. Of a variable that the call does
// not set, the value was not chosen for this program: `$X` alone may be a flag that runs something, and `v$X`, `$X` in
// `--features $X`, or one that writes a file is none.

const whyOpenFlag = "an argument that is known only at run time could be a flag"

// mayBeFlag reports whether a word may be a flag, or be split into words of which one is.
func (c *call) mayBeFlag(w *shell.Word) bool {
	return couldBeFlag(w) && !c.noFlag(w) && !c.isAddress(w)
}

// outside reports whether the unknown parts of a word are variables that nothing in the call sets.
func (c *call) outside(w *shell.Word) bool { return w.Outside && c.f.script == c.a.top }

// openFlag gives a word that may be a flag the effects of every flag that it may be.
func (c *call) openFlag(sp *spec, w *shell.Word) {
	if shell.IsNumber(w) {
		return
	}
	risky, runs := sp.openRisk(w)
	wholly := w.Text == "" && w.Shape() == shell.Unknown
	switch {
	case !risky || !runs && (c.namesFile(w) || c.printsNames(w)):
	case c.outside(w) && !(runs && wholly), w.Known: // `rm *`, where a file may be called `-rf`
		c.gap(DynamicOperand, whyOpenFlag, w)
	case runs:
		c.gap(DynamicFlag, whyOpenFlag+" that runs something", w)
	case isLikelyOperand(w):
		c.gap(DynamicOperand, whyOpenFlag, w)
	default:
		c.gap(DynamicOperand, whyOpenFlag, w)
		c.asAnyFlag(sp, w)
	}
}

// isLikelyOperand reports whether a word looks like an operand throughout: `$(echo a.txt)`, `${x:-a.txt}`. Only a
// variable that the call does not set could make a flag of it.
func isLikelyOperand(w *shell.Word) bool {
	s := w.Shape()
	begins := func(part string) bool { return strings.HasPrefix(part, "-") }
	return s != "" && !strings.Contains(s, shell.Unknown) && !slices.ContainsFunc(strings.Fields(s), begins)
}

var namePrinters = kb.Table("!prints-names")

// printsNames reports whether a word is printed by a command that prints names of branches or tags. One of another's
// that is called like a flag counts only for flags that run something.
func (c *call) printsNames(w *shell.Word) bool {
	words := c.producer(substituted(w))
	return len(words) > 1 && words[0].Text == "git" && namePrinters().Has(words[1].Text)
}

// openRisk reports whether a flag that a word may be is risky, and whether one runs something.
func (s *spec) openRisk(w *shell.Word) (risky, runs bool) {
	for _, f := range s.openFlags(w) {
		risky, runs = risky || f.risky(), runs || f.runs()
	}
	return risky, runs
}

// openEffects are those of the flags that a word may be, on any file.
func (c *call) openEffects(sp *spec, w *shell.Word) {
	var on [System + 1]bool
	for _, f := range sp.openFlags(w) {
		if !c.a.afford(1) {
			return
		}
		for i := range f.deeds {
			switch d := &f.deeds[i]; {
			case d.verb == doesInPlace:
				c.inPlace, c.open = true, true
			case !d.verb.harmless() && d.verb.kind() != 0:
				c.deed(d)
			}
		}
		if f.arity == alone {
			continue
		}
		for _, k := range f.role.touches() {
			on[k] = true
		}
	}
	for k := range on {
		if on[k] {
			e := c.newEffect(Kind(k), w)
			e.open(shell.Unknown)
			e.bound = false
			c.a.effect(e)
		}
	}
}

// openFlags returns the flags that a word may be: of `--out$x` those whose name begins so, of `-$x`, `$x` and a word
// that may be split all of them.
func (s *spec) openFlags(w *shell.Word) (out []*flag) {
	begin, long := strings.CutPrefix(w.Text, "--")
	if s.style&styleDash != 0 && !long {
		begin, long = strings.CutPrefix(w.Text, "-")
	}
	every := w.Split || !long || begin == ""
	for sp, own := s, true; sp != nil; sp, own = sp.parent, false {
		for i := range sp.flags {
			if f := &sp.flags[i]; every && (own || f.global) {
				out = append(out, f)
			}
		}
		for i := range sp.long.list {
			e := &sp.long.list[i]
			if every || !strings.HasPrefix(e.name, begin) || e.name == "" {
				continue
			}
			if f := &sp.flags[e.at]; own || f.global {
				out = append(out, f)
			}
		}
	}
	return out
}

// touches returns the kinds of effects that a flag's value of this role has.
func (r role) touches() []Kind {
	switch r {
	case roleRead, rolePeek:
		return []Kind{Read}
	case roleWrite, roleMaybe, roleInto, roleSuffix:
		return []Kind{Write}
	case roleDelete:
		return []Kind{Delete}
	case roleFrom, roleData, roleForm:
		return []Kind{Read, Connect}
	case roleTo:
		return []Kind{Write, Connect}
	case roleURL, roleHost, roleLookup, roleGitURL, roleSocat, roleVia:
		return []Kind{Connect}
	case roleDir, roleRepo, roleWorkdir, roleMount, roleTarFile, roleLink, roleMove:
		return []Kind{Read, Write, Delete}
	}
	return nil
}
