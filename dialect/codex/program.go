package codex

import (
	"cmp"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/pattern"
)

// The approval policies.
const (
	modeUntrusted = "untrusted"  // asks about every command that no rule allows
	modeOnRequest = "on-request" // the default: commands that the sandbox would hold are not asked about
	modeNever     = "never"      // never asks
)

// modeNames are the approval policies, the default first.
var modeNames = []string{modeOnRequest, modeUntrusted, modeNever}

// The lists of a Program. Rules whose first word is a path come first: if one of
// them matches, those for the bare name of the program are not looked at.
const (
	listPaths = "paths"
	listRules = "rules"
	listHeld  = "sandbox"
)

// The fields of rules: the words of a command, for allow rules only where the line is so
// plain that the words are sure to be those; a host; that the sandbox lets a call pass.
const (
	fieldPlain     = "plain"
	fieldSeen      = "seen"
	fieldPlainPath = "plain path"
	fieldSeenPath  = "seen path"
	fieldHost      = "host"
	fieldHeld      = "held"
)

// The tools of the rules' questions.
const (
	toolShell = "shell"
	toolFetch = "fetch"
)

// params are the settings of the files that the view needs.
type params struct {
	// Hosts are the absolute paths that host_executable lists, by program.
	Hosts map[string][]string `json:"hosts,omitempty"`
	// ReadOnly: the requirements allow no sandbox that lets commands write.
	ReadOnly bool `json:"read_only,omitempty"`
}

// newProgram returns the modes over empty lists.
func newProgram() *obstat.Program {
	stages := func(def obstat.Verdict, asks bool, more ...obstat.Stage) obstat.Pipeline {
		match := []obstat.Stage{
			obstat.Match{Name: "rules for paths", Rules: listPaths, Pick: obstat.Strictest, AskDenies: !asks},
			obstat.Match{Name: "rules", Rules: listRules, Pick: obstat.Strictest, AskDenies: !asks},
		}
		return obstat.Pipeline{Stages: append(match, more...), Default: def}
	}
	passes := obstat.Match{Name: "sandbox", Rules: listHeld}
	return &obstat.Program{
		Dialect: Dialect{}.Name(), Mode: modeOnRequest, View: viewName,
		Pipelines: map[obstat.Mode]obstat.Pipeline{
			modeUntrusted: stages(obstat.Ask, true),
			modeOnRequest: stages(obstat.Ask, true, passes),
			modeNever:     stages(obstat.Deny, false, passes),
		},
		Rules: map[string][]obstat.Rule{listPaths: {}, listRules: {}, listHeld: {{
			Field: fieldHeld, Pattern: obstat.Text{Flavour: pattern.Fnmatch, Text: "?*"}, Verdict: obstat.Allow,
			Source: "what the sandbox lets pass", Layer: "built in"}}},
	}
}

// A loader puts the files together.
type loader struct {
	kit.Reader
	prog    *obstat.Program
	params  params
	hosts   []obstat.Rule // network rules, one for each host
	allowed []string      // approval policies that the requirements allow
	overrun bool          // the file being run was ended: it took too much
}

// A prefixRule is a rule about the first words of a command.
type prefixRule struct {
	pattern       [][]string // alternatives for each word
	verdict       obstat.Verdict
	justification string
}

// decisions are Codex's words for verdicts.
var decisions = map[string]obstat.Verdict{"allow": obstat.Allow, "prompt": obstat.Ask, "forbidden": obstat.Deny}

func decisionOf(v obstat.Verdict) string {
	for word, is := range decisions {
		if is == v {
			return word
		}
	}
	return ""
}

// compile returns the rule and the list that it belongs to, for one of the alternatives of
// its first word.
func (p *prefixRule) compile(head string) (list string, r obstat.Rule) {
	var b strings.Builder
	b.WriteString("(?s)")
	kit.WriteLiteral(&b, escape(head))
	for _, alts := range p.pattern[1:] {
		b.WriteString(`\ `)
		for i, alt := range alts {
			if len(alts) > 1 {
				b.WriteString([]string{"(?:", "|"}[min(i, 1)])
			}
			kit.WriteLiteral(&b, escape(alt))
		}
		if len(alts) > 1 {
			b.WriteByte(')')
		}
	}
	b.WriteString("(?: .*)?")
	list, field := listRules, fieldSeen
	switch abs := isPath(head); {
	case abs && p.verdict == obstat.Allow:
		list, field = listPaths, fieldPlainPath
	case abs:
		list, field = listPaths, fieldSeenPath
	case p.verdict == obstat.Allow:
		field = fieldPlain
	}
	text := obstat.Text{Flavour: pattern.Full, Text: b.String()}
	return list, obstat.Rule{Tool: obstat.Is(toolShell), Field: field, Pattern: text, Verdict: p.verdict,
		Source: p.String(), Reason: p.justification}
}

// String returns the rule as Codex itself writes one.
func (p *prefixRule) String() string {
	words := make([]string, len(p.pattern))
	for i, alts := range p.pattern {
		texts := make([]string, len(alts))
		for j, alt := range alts {
			texts[j] = jsonx.Quote(alt)
		}
		if words[i] = strings.Join(texts, ", "); len(alts) > 1 {
			words[i] = "[" + words[i] + "]"
		}
	}
	return fnPrefix + "(pattern=[" + strings.Join(words, ", ") + `], decision="` + decisionOf(p.verdict) + `")`
}

// escape returns a word so that words joined by blanks can be told apart, and so that the
// beginning of a word is written like the beginning of its escaped form.
func escape(word string) string {
	var b strings.Builder
	for _, c := range []byte(word) {
		if strings.IndexByte(" \t\n'\"\\", c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return cmp.Or(b.String(), `''`)
}

// joined returns the words of a command as rules match them.
func joined(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = escape(w)
	}
	return strings.Join(out, " ")
}

// add puts a rule into the Program, once for each program that it names.
func (l *loader) add(p *prefixRule, layer string, pos obstat.Pos) {
	for _, head := range p.pattern[0] {
		list, r := p.compile(head)
		r.Layer, r.Pos = layer, pos
		l.prog.Rules[list] = append(l.prog.Rules[list], r)
	}
}

// network notes a rule about a host. A later rule replaces one that was given before;
// a prompt does not replace a denial.
func (l *loader) network(r obstat.Rule) {
	at := slices.IndexFunc(l.hosts, func(o obstat.Rule) bool { return o.Pattern == r.Pattern })
	switch {
	case at < 0:
		l.hosts = append(l.hosts, r)
	case r.Verdict != obstat.Ask || l.hosts[at].Verdict == obstat.Allow:
		l.hosts[at] = r
	}
}

// finish sets the mode, the hosts and the view's parameters, once all files are read.
func (l *loader) finish(mode obstat.Mode) {
	l.prog.Rules[listRules] = append(l.prog.Rules[listRules], l.hosts...)
	if len(l.hosts) > 0 {
		l.prog.Faces = map[string]obstat.Face{obstat.FaceConnect: {Tool: "WebFetch", Field: "url"}}
	}
	if mode != "" {
		l.prog.Mode = mode
	}
	if l.allowed != nil {
		if !slices.Contains(l.allowed, string(l.prog.Mode)) {
			l.prog.Mode = obstat.Mode(l.allowed[0])
		}
		for m := range l.prog.Pipelines { // a mode that is not allowed is the one in force
			if !slices.Contains(l.allowed, string(m)) {
				l.prog.Pipelines[m] = l.prog.Pipelines[l.prog.Mode]
			}
		}
	}
	l.prog.Params = kit.Params(l.params)
}
