package native

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/dialect"
)

// A sentence is a rule without its verdict: `write workspace except .git/**, .env*`.
type sentence struct {
	verbs   []string
	targets []phrase
	except  []phrase
	where   []predicate
	keep    time.Duration // that changes are kept, zero where the rule does not say
	keepAt  int           // byte of the sentence
}

// A phrase is one target as written: `outside workspace`, `git push`, `src/**`.
type phrase struct {
	text    string
	at      int  // byte of the sentence
	quoted  bool // a part of it is
	exactly bool // a command without any further arguments
}

// A predicate is a condition on a field of a tool's input: `input.table in [a, b]`.
type predicate struct {
	field  string
	manner string // in place of a field: `force`
	op     string // is, in, like, <, <=, >, >=
	not    bool
	values []phrase
	at     int
}

// verbs begin a rule's sentence, in the order of documents.
var verbs = [...]string{"read", "write", "delete", "run", "connect", "code", "system", "tool"}

// bare are the verbs that need no target.
var bare = []string{"code", "system"}

func isVerb(s string) bool { return slices.Contains(verbs[:], s) }

// onPaths tells whether a verb's targets are paths.
func onPaths(verb string) bool { return verb == "read" || verb == "write" || verb == "delete" }

// A mistake is an error in a sentence, and its place.
type mistake struct {
	at        int
	msg, hint string
}

// A token is a word, or one of the characters `,`, `[` and `]`.
type token struct {
	text   string
	at     int
	quoted bool
	punct  bool
}

// scan cuts a sentence into tokens. Brackets count only behind `where`: in a path or a
// command they are its own.
func scan(text string) (out []token, bad *mistake) {
	where := false
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == ',' || where && (c == '[' || c == ']'):
			out = append(out, token{text: string(c), at: i, punct: true})
			i++
		default:
			t, end, bad := word(text, i, where)
			if bad != nil {
				return nil, bad
			}
			where = where || t.text == "where" && !t.quoted
			out = append(out, t)
			i = end
		}
	}
	return out, nil
}

// word reads a word, parts of which may be quoted.
func word(text string, i int, where bool) (t token, end int, bad *mistake) {
	t.at = i
	var b strings.Builder
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return t, i, &mistake{i, fmt.Sprintf("the quote %c is not closed", c),
					"close it, or write the character inside the other kind of quotes"}
			}
			b.WriteString(text[i+1 : i+1+n])
			t.quoted = true
			i += n + 1
		case strings.IndexByte(" \t\n\r,", c) >= 0, where && isBracket(text, i):
			t.text = b.String()
			return t, i, nil
		default:
			b.WriteByte(c)
		}
	}
	t.text = b.String()
	return t, i, nil
}

// A parser reads the tokens of one sentence.
type parser struct {
	tokens []token
	pos    int
	end    int // of the text
	bad    []mistake
	keep   time.Duration
	keepAt int
}

// parseSentence reads a sentence and returns all its mistakes.
func parseSentence(text string) (*sentence, []mistake) {
	tokens, bad := scan(text)
	if bad != nil {
		return nil, []mistake{*bad}
	}
	p := &parser{tokens: tokens, end: len(text)}
	s := p.sentence()
	return s, p.bad
}

func (p *parser) fail(at int, hint, format string, args ...any) {
	p.bad = append(p.bad, mistake{at, fmt.Sprintf(format, args...), hint})
}

// peek returns the next token; at the end, one without a text.
func (p *parser) peek() token {
	if p.pos < len(p.tokens) {
		return p.tokens[p.pos]
	}
	return token{at: p.end, punct: true}
}

func (p *parser) is(text string) bool {
	t := p.peek()
	return t.text == text && !t.quoted
}

func (p *parser) take(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) done() bool { return p.pos >= len(p.tokens) }

func (p *parser) sentence() *sentence {
	s := &sentence{}
	first := p.peek()
	if first.text == "" {
		p.fail(0, "write what it is about: `read workspace`", "the rule is empty")
		return s
	}
	for {
		t := p.peek()
		if !isVerb(t.text) {
			hint := "a rule begins with " + strings.Join(verbs[:], ", ")
			if near := dialect.Near(t.text, verbs[:]...); near != "" {
				hint = near
			}
			p.fail(t.at, hint, "%q is not something that a call does", t.text)
			return s
		}
		s.verbs = append(s.verbs, t.text)
		p.pos++
		next := token{}
		if p.pos+1 < len(p.tokens) {
			next = p.tokens[p.pos+1]
		}
		if !(p.is("and") || p.is("or") || p.is(",")) || !isVerb(next.text) {
			break
		}
		p.pos++
	}
	s.targets = p.phrases()
	if len(s.targets) == 0 && len(p.bad) == 0 && !slices.Contains(bare, s.verbs[len(s.verbs)-1]) {
		p.fail(p.peek().at, "name a target: `"+s.verbs[0]+" "+sample(s.verbs[0])+"`, or `"+s.verbs[0]+" anything`",
			"%s what?", s.verbs[0])
	}
	if p.take("except") {
		at := p.peek().at
		if s.except = p.phrases(); len(s.except) == 0 {
			p.fail(at, "name what the rule leaves out, or take `except` out", "nothing stands behind except")
		}
	}
	if p.take("where") {
		p.predicates(s)
	}
	if p.take(",") && !p.keeps() {
		p.pos--
	}
	s.keep, s.keepAt = p.keep, p.keepAt
	if !p.done() && len(p.bad) == 0 {
		p.fail(p.peek().at, "targets are separated by commas; then come `except` and `where`", "%q is one word too many",
			p.peek().text)
	}
	return s
}

// sample is a target that goes with a verb.
func sample(verb string) string {
	switch verb {
	case "run":
		return "git status"
	case "connect":
		return "example.com"
	case "tool":
		return "mcp__github__*"
	}
	return "workspace"
}

// phrases reads targets up to `except`, `where` or the end.
func (p *parser) phrases() (out []phrase) {
	for !p.done() {
		ph := p.phrase()
		if ph.text == "" && !ph.quoted {
			p.fail(ph.at, "take the comma out, or write a target between the two", "a target is missing here")
			return out
		}
		out = append(out, ph)
		if !p.take(",") || p.keeps() {
			return out
		}
		if p.done() || p.is("except") || p.is("where") {
			p.fail(p.peek().at, "take the last comma out", "a target is missing behind the comma")
			return out
		}
	}
	return out
}

// phrase reads the words of one target.
func (p *parser) phrase() phrase {
	ph := phrase{at: p.peek().at}
	if p.is("exactly") && p.pos+1 < len(p.tokens) && !p.tokens[p.pos+1].punct {
		ph.exactly = true
		p.pos++
	}
	var words []string
	for !p.done() && !p.peek().punct && !p.is("except") && !p.is("where") {
		t := p.peek()
		ph.quoted = ph.quoted || t.quoted
		words = append(words, t.text)
		p.pos++
	}
	ph.text = strings.Join(words, " ")
	return ph
}

// manner reads `force` or `not dry-run`.
func (p *parser) manner() (pr predicate, ok bool) {
	pr.at = p.peek().at
	not := p.is("not") && p.pos+1 < len(p.tokens)
	t := p.peek()
	if not {
		t = p.tokens[p.pos+1]
	}
	if t.quoted || !slices.Contains(manners, t.text) {
		return pr, false
	}
	pr.manner, pr.not = t.text, not
	if p.pos++; not {
		p.pos++
	}
	return pr, true
}

// predicates reads `input.a is x and input.b in [y, z]`, and `force and not dry-run` of commands.
func (p *parser) predicates(s *sentence) {
	for {
		t := p.peek()
		pr := predicate{at: t.at, field: t.text}
		if t.punct || t.text == "" {
			p.fail(t.at, "`where input.table in [users, orders]`", "a condition is missing here")
			return
		}
		if m, ok := p.manner(); ok {
			pr = m
		} else if near := dialect.Near(t.text, manners...); near != "" && !t.quoted {
			p.fail(t.at, near, "there is no way to run a command that is called %q", t.text)
			return
		} else {
			p.pos++
			if !p.operator(&pr) {
				return
			}
			p.values(&pr)
		}
		s.where = append(s.where, pr)
		if len(p.bad) > 0 || !p.take("and") {
			return
		}
	}
}

var operators = [...]string{"is", "in", "like", "<", "<=", ">", ">="}

func (p *parser) operator(pr *predicate) bool {
	pr.not = p.take("not")
	t := p.peek()
	if !slices.Contains(operators[:], t.text) {
		p.fail(t.at, "write is, is not, in, not in, like, not like, <, <=, > or >=", "%q is no comparison", t.text)
		return false
	}
	pr.op = t.text
	p.pos++
	if pr.op == "is" && p.take("not") {
		pr.not = true
	}
	return true
}

func (p *parser) values(pr *predicate) {
	list := pr.op == "in"
	if at := p.peek().at; list && !p.take("[") {
		p.fail(at, "write `in [a, b]`", "a list is expected behind in")
		return
	}
	for {
		t := p.peek()
		if t.punct {
			p.fail(t.at, "texts, numbers, true, false and null are values", "a value is missing here")
			return
		}
		p.pos++
		pr.values = append(pr.values, phrase{text: t.text, at: t.at, quoted: t.quoted})
		if !list || !p.take(",") {
			break
		}
	}
	if list && !p.take("]") {
		p.fail(p.peek().at, "close the list with ]", "the list is not closed")
	}
}

// isBracket tells whether a character opens or closes a list, as of `in [a, b]`; the brackets of
// `rows[]` do not.
func isBracket(text string, i int) bool {
	switch text[i] {
	case '[':
		return !strings.HasPrefix(text[i:], "[]")
	case ']':
		return text[i-1] != '['
	}
	return false
}
