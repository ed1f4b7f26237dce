package tree

import (
	"fmt"
	"strings"
)

// A Field is a key that an object may hold.
type Field struct {
	Name     string
	Kinds    []Kind // its value must be one of these; none means anything
	Required bool
}

// Check reports every key of n that is not known, values of a wrong kind and required
// keys that are missing, sorted by offset. A known key in other capitals is refused by
// name, any other gets the nearest known key as a hint. It is a problem, too, if n is no
// object. A nil n has no problems.
func (n *Node) Check(fields ...Field) []Problem {
	if n == nil {
		return nil
	}
	if p := n.Want("the value", Object); p != nil {
		return []Problem{*p}
	}
	var log Log
	for _, m := range n.Members {
		at := n.Start
		if m.KeyNode != nil {
			at = m.KeyNode.Start
		}
		if f := find(fields, m.Key); f == nil {
			log.Add(unknown(fields, m.Key, at))
		} else if len(f.Kinds) > 0 {
			if p := m.Value.Want(quote(m.Key), f.Kinds...); p != nil {
				log.Add(*p)
			}
		}
	}
	for _, f := range fields {
		if f.Required && n.Get(f.Name) == nil {
			log.Add(Problem{Offset: n.Start, Code: CodeMissing, Msg: "the key " + quote(f.Name) + " is missing"})
		}
	}
	return log.Problems()
}

// Want returns nil if n is of one of kinds (or kinds is empty), and otherwise a
// problem that says which kinds the value called name may have.
func (n *Node) Want(name string, kinds ...Kind) *Problem {
	if n == nil || len(kinds) == 0 {
		return nil
	}
	words := make([]string, len(kinds))
	for i, k := range kinds {
		if n.Kind == k {
			return nil
		}
		words[i] = k.String()
	}
	return &Problem{Offset: n.Start, Code: CodeType, Msg: name + " should be " + strings.Join(words, " or ") + ", not " + n.Kind.String()}
}

// Strings returns the texts of a list of strings, each with its node, and a
// problem for every element that is no string. A nil n is an empty list.
func (n *Node) Strings(name string) ([]*Node, []Problem) {
	if n == nil {
		return nil, nil
	}
	if p := n.Want(name, Array); p != nil {
		return nil, []Problem{*p}
	}
	var log Log
	out := make([]*Node, 0, len(n.Elems))
	for i, e := range n.Elems {
		if p := e.Want(fmt.Sprintf("element %d of %s", i+1, name), String); p != nil {
			log.Add(*p)
			continue
		}
		out = append(out, e)
	}
	return out, log.Problems()
}

// Nearest returns the word of known that is written most like word, if it is
// near enough to be a misspelling of it. Dialects use it for values as well.
func Nearest(word string, known ...string) (string, bool) {
	if len(word) == 0 || len(word) > 64 {
		return "", false
	}
	best, far := "", 1+max(1, len(word)/3)
	for _, k := range known {
		if len(k) > 64 {
			continue
		}
		if strings.EqualFold(k, word) {
			return k, true
		}
		if d := Distance(strings.ToLower(word), strings.ToLower(k)); d < far {
			best, far = k, d
		}
	}
	return best, best != ""
}

func find(fields []Field, name string) *Field {
	for i := range fields {
		if fields[i].Name == name {
			return &fields[i]
		}
	}
	return nil
}

func unknown(fields []Field, key string, at int) Problem {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
		// Some readers fold capitals and some do not, so a key that only one of
		// them would see must not pass in silence.
		if strings.EqualFold(f.Name, key) {
			return Problem{Offset: at, Code: CodeCase, Msg: "the key " + quote(key) + " is written in other capitals than " + quote(f.Name),
				Hint: "write " + quote(f.Name)}
		}
	}
	p := Problem{Offset: at, Code: CodeUnknown, Msg: "unknown key " + quote(key)}
	if near, ok := Nearest(key, names...); ok {
		p.Hint = "did you mean " + quote(near) + "?"
	}
	return p
}

// quote writes a key for a message: escaped, and short whatever the file held.
func quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:57]) + "..."
	}
	return fmt.Sprintf("%q", s)
}

// Distance is the number of letters to insert, drop, change or swap with their
// neighbour that turn a into b.
func Distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, prev, cur := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		cur[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(t)]
}
