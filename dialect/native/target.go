package native

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/kit"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// The subjects of questions.
const (
	fieldCommand  = "command"  // of the command that has the effect, as allow rules see it
	fieldAssigned = "assigned" // with the variables that are set for it, as allow rules that name them see it
	fieldExact    = "exact"    // the same, as allow rules for exactly that command see it
	fieldSeen     = "seen"     // the same and other spellings of it, as deny and ask rules see it
	fieldFolded   = "folded"   // a text for PowerShell in small letters, as deny and ask rules with capital ones see it
	fieldPath     = "path"     // from the project or a root of the workspace
	fieldAbs      = "abs"
	fieldHome     = "home"    // from the home directory
	fieldPlace    = "place"   // a named place that the path is certainly in
	fieldMaybe    = "maybe"   // one that it may be in
	fieldGuarded  = "guarded" // "yes": a write of settings, which no rule for a wider place allows
	fieldHost     = "host"
	fieldTool     = "tool"
	fieldKind     = "tool-kind"   // one name for tools that each agent calls differently: "subagent"
	fieldServer   = "server-tool" // an MCP server's tool, spelled in one way
	fieldKnown    = "known"       // all that it does is known: "yes"
	fieldUnnamed  = "unnamed"     // which files it touches is not said: "yes"
	fieldHere     = "here"        // likewise, but they lie where the command works: "yes"
	fieldManner   = "manner"      // how the command goes about its work: "force", "may be force", "plain"
)

// The places that need no definition.
const (
	placeWorkspace = "workspace"
	placeOutside   = "outside workspace"
	placeHome      = "home"
	placeTemp      = "temp"
	placeSecrets   = "secrets"
	placeSettings  = "settings" // of agents and of obstat: permissions are written there
	placeMoved     = "moved"    // a file of the workspace that stays in it under another name
)

var builtinPlaces = []string{placeWorkspace, placeOutside, placeHome, placeTemp, placeSecrets, placeSettings,
	placeMoved}

// anything are the words for every target.
var anything = []string{"anything", "anywhere", "everything"}

type targetKind uint8

const (
	everything targetKind = iota
	place
	path
	command
	host
	toolName
)

// A target is the object of a verb: a place, a path, a command, a host, a tool.
type target struct {
	kind    targetKind
	place   string
	glob    glob
	words   []byte // of a command, host or tool, see tokenize
	exactly bool
	text    string // as written
	at      int    // in the sentence
}

// A match is how the engine tests for a target; without a pattern it is every subject.
type match struct {
	field   string
	pattern obstat.Text
}

// targets returns the targets that a phrase means for a verb: more than one where it names a place of
// the file.
func (l *loader) targets(verb string, ph phrase) (out []target, bad *mistake) {
	t := target{text: ph.text, at: ph.at, exactly: ph.exactly}
	switch {
	case ph.exactly && verb != "run":
		return nil, &mistake{ph.at, "exactly is for commands", "take it out: a path, host or tool is meant as it is"}
	case slices.Contains(anything, ph.text) && !ph.quoted:
		t.kind = everything
		return []target{t}, nil
	case slices.Contains(bare, verb):
		return nil, &mistake{ph.at, fmt.Sprintf("%s takes no target", verb), "write `" + verb + "` alone"}
	}
	if named, ok := l.places[ph.text]; ok && !ph.quoted && ph.text != placeSecrets {
		return l.members(verb, named, ph)
	}
	switch verb {
	case "run":
		t.kind, t.words = command, tokenize(oneBlank(ph.text))
		if strings.TrimSpace(ph.text) == "" || ph.text[0] == '-' {
			return nil, &mistake{ph.at, fmt.Sprintf("%q names no program", ph.text),
				"a command begins with its program: `git push`"}
		}
	case "connect":
		return l.host(t)
	case "tool":
		t.kind, t.words = toolName, tokenize(ph.text)
		if strings.ContainsAny(ph.text, " ()") {
			return nil, &mistake{ph.at, fmt.Sprintf("%q is not the name of a tool", ph.text),
				"a tool's name is one word; conditions on its input come behind `where`"}
		}
	default:
		return l.path(t, ph)
	}
	return []target{t}, nil
}

// host reads the name of a host.
func (l *loader) host(t target) ([]target, *mistake) {
	name := strings.ToLower(strings.TrimSuffix(t.text, "."))
	if strings.ContainsAny(name, "/@ ") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
		return nil, &mistake{t.at, fmt.Sprintf("%q is not a host", t.text),
			"write the name alone, without scheme, port and path: `connect api.example.com`"}
	}
	t.kind, t.words = host, tokenize(name)
	return []target{t}, nil
}

// path reads a place or a path.
func (l *loader) path(t target, ph phrase) ([]target, *mistake) {
	if slices.Contains(builtinPlaces, ph.text) && !ph.quoted {
		t.kind, t.place = place, ph.text
		out := []target{t}
		if ph.text == placeSecrets {
			more, bad := l.members("read", l.places[placeSecrets], ph)
			return append(out, more...), bad
		}
		return out, nil
	}
	if !ph.quoted && strings.Contains(ph.text, " ") {
		hint := "separate targets with commas, or put a path with blanks in quotes"
		if strings.HasPrefix(ph.text, "outside ") {
			hint = "only `outside workspace` is a place"
		}
		return nil, &mistake{ph.at, fmt.Sprintf("%q is no path and no place", ph.text), hint}
	}
	if known := append(slices.Clone(builtinPlaces), l.placeNames()...); !ph.quoted && isName(ph.text) {
		if near := dialect.Near(ph.text, known...); near != "" {
			return nil, &mistake{ph.at, fmt.Sprintf("there is no place %q", ph.text),
				near + " A file of that name is ./" + ph.text}
		}
	}
	g, why := newGlob(ph.text)
	if why != "" {
		return nil, &mistake{ph.at, fmt.Sprintf("%q: %s", ph.text, why),
			"`src/**`, `*.pem`, `/etc/hosts` and `~/notes` are paths"}
	}
	t.kind, t.glob = path, g
	return []target{t}, nil
}

// isName tells whether a text may name a place.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && s[0] >= 'a'
}

// members returns the targets that the members of a place mean for a verb.
func (l *loader) members(verb string, members []phrase, ph phrase) (out []target, bad *mistake) {
	for _, m := range members {
		m.at = ph.at
		ts, bad := l.targets(verb, m)
		if bad != nil {
			bad.msg = fmt.Sprintf("%q of the place %q cannot be the target of %s: %s", m.text, ph.text, verb, bad.msg)
			return nil, bad
		}
		out = append(out, ts...)
	}
	return out, nil
}

// matches returns how the engine tests for a target of a rule with that verdict; nil is
// every subject of the verb.
func (t *target) match(allow bool) match {
	switch t.kind {
	case place:
		if t.place == placeMoved { // a directory with all that is in it, as `src/**` is
			return match{fieldPlace, obstat.Text{Flavour: pattern.Wildcard, Text: placeMoved + "*"}}
		}
		return match{fieldPlace, obstat.Is(t.place)}
	case path:
		return match{t.glob.base, t.glob.pattern()}
	case command:
		switch {
		case allow && t.exactly:
			return match{fieldExact, words(t.text, true)}
		case allow && assigns.MatchString(t.text):
			return match{fieldAssigned, assigned(t.text)}
		case allow:
			return match{fieldCommand, words(t.text, false)}
		}
		return match{fieldSeen, t.refused(t.text)}
	case host:
		return match{fieldHost, hostPattern(t.text, allow)}
	case toolName:
		return match{fieldTool, glued(t.text)}
	}
	return match{}
}

// assigns finds a command that begins with a variable, `CI=1 npm test`.
var assigns = regexp.MustCompile(`^[A-Za-z_]\w*=`)

// assigned is a pattern over a command with its variables.
func assigned(text string) obstat.Text {
	set, command, value := kit.Variables(oneBlank(text))
	head := star(strings.TrimSuffix(command, " *"), ".*")
	return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + star(set, value) + head + "(?: .*)?"}
}

// byName writes a command with the name of its program, as deny and ask rules see it: `/bin/rm x` is `rm x`.
func byName(text string) string {
	if program, rest, _ := strings.Cut(text, " "); strings.HasPrefix(program, "/") && !strings.Contains(program, "*") {
		if name := effect.ProgramName(program); name != "" {
			return strings.TrimSpace(name + " " + rest)
		}
	}
	return text
}

// refused is a pattern over a command, as deny and ask rules see it. What code within quotes means does not depend on
// the number of blanks.
func (t *target) refused(text string) obstat.Text {
	if !t.exactly {
		text = folded(text)
	}
	return words(text, t.exactly)
}

// others returns how else a deny or ask rule for a command sees commands: `run /bin/rm` is about rm, and `run
// Remove-Item` about remove-item in PowerShell, which knows no capital letters.
func (t *target) others() (out []match) {
	if t.kind != command {
		return nil
	}
	for _, text := range slices.Compact([]string{t.text, byName(t.text)}) {
		if text != t.text {
			out = append(out, match{fieldSeen, t.refused(text)})
		}
		if small := strings.ToLower(text); small != t.text {
			out = append(out, match{fieldFolded, t.refused(small)})
		}
	}
	return out
}

// words is a pattern over a command: the words it begins with.
func words(text string, exactly bool) obstat.Text {
	text = oneBlank(text)
	switch {
	case exactly:
		return obstat.Is(text)
	case !strings.ContainsAny(text, `?/\`):
		return obstat.Text{Flavour: pattern.Wildcard, Text: strings.TrimSuffix(text, " *") + " *"}
	}
	return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + star(strings.TrimSuffix(text, " *"), ".*") + "(?: .*)?"}
}

// folded makes one blank of each run of blanks, in quotes as well.
func folded(text string) string { return strings.Join(strings.Fields(text), " ") }

// oneBlank writes a command on one line as commands are shown to rules.
func oneBlank(text string) string { return kit.OneBlank(text, " \t\r\n\v\f") }

// glued is a text in which `*` stands for anything.
func glued(text string) obstat.Text {
	if !strings.Contains(text, "*") {
		return obstat.Is(text)
	}
	return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + star(text, ".*")}
}

// star quotes a text but for its asterisks, each of which becomes any.
func star(text, any string) string {
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '*' {
			b.WriteString(any)
		} else {
			quote(&b, text[i])
		}
	}
	return b.String()
}

// loopback are the names and addresses of this machine.
const loopback = `localhost|.*\.localhost|127\..*|::1|0\.0\.0\.0`

// hostPattern is a pattern over a host. What is allowed has no empty part, `x..example.com`.
func hostPattern(text string, allow bool) obstat.Text {
	name := strings.ToLower(strings.TrimSuffix(text, "."))
	if name == "localhost" {
		return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + loopback}
	}
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		parts := `.+\.`
		if allow {
			parts = `(?:[^.]+\.)+`
		}
		return obstat.Text{Flavour: pattern.Full, Text: "(?s)" + parts + star(rest, ".*")}
	}
	return glued(name)
}

// contains tells whether o is certainly a part of t.
func (t *target) contains(o *target) bool {
	switch {
	case t.kind == everything:
		return true
	case o.kind == everything:
		return false
	case t.kind == place:
		return t.holds(o)
	case t.kind == path:
		return o.kind == path && t.glob.contains(&o.glob) || o.kind == place && byTable(o.place)
	case t.kind != o.kind:
		return false
	case t.kind == command:
		if t.exactly {
			return false
		}
		more := append(slices.Clone(t.words), ' ', tokAny)
		return covers(t.words, o.words, false) || covers(more, anyStar(o.words), false)
	}
	return covers(anyStar(t.words), anyStar(o.words), false)
}

// anyStar takes each `*` for any text, slashes included.
func anyStar(words []byte) []byte {
	out := slices.Clone(words)
	for i, c := range out {
		if c == tokName {
			out[i] = tokAny
		}
	}
	return out
}

// byTable tells whether a place is a table of names, as secrets are, and no directory.
func byTable(place string) bool { return place == placeSecrets || place == placeSettings }

// holds tells whether a place certainly holds o. Secrets in an exception are those in the place.
func (t *target) holds(o *target) bool {
	if o.kind == place {
		if t.place == placeOutside && (o.place == placeTemp || o.place == placeHome) {
			return true
		}
		return o.place == t.place || byTable(o.place) && !byTable(t.place)
	}
	switch t.place {
	case placeWorkspace, placeMoved:
		return o.glob.base == fieldPath
	case placeOutside:
		return o.glob.base != fieldPath
	case placeHome:
		return o.glob.base == fieldHome
	case placeTemp:
		return o.glob.base == fieldAbs &&
			slices.ContainsFunc(tempDirs, func(dir string) bool { return strings.HasPrefix(o.glob.text, dir+"/") })
	}
	return len(o.glob.tokens) > 0 && string(o.glob.tokens) != string(tokAny) // those of the table that are called so
}
