package native

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// TestPossibleValues: conditions are possible where one of the values that they speak of, or one between these, fits all.
func TestPossibleValues(t *testing.T) {
	is := func(texts ...string) obstat.Cond {
		c := obstat.Cond{Field: "input.x"}
		for _, text := range texts {
			c.Any = append(c.Any, obstat.Text{Flavour: pattern.JSON, Text: text})
		}
		return c
	}
	orders := func(texts ...string) obstat.Cond {
		c := obstat.Cond{Field: "input.x"}
		for _, text := range texts {
			c.Any = append(c.Any, order(text))
		}
		return c
	}
	not := func(c obstat.Cond) obstat.Cond { c.Not = true; return c }
	like := func(text string) obstat.Cond {
		return obstat.Cond{Field: "input.x", Any: []obstat.Text{{Flavour: pattern.Full, Text: star(text, ".*")}}}
	}
	for name, tt := range map[string]struct {
		conds []obstat.Cond
		want  bool
	}{
		"one value":                           {[]obstat.Cond{is("1")}, true},
		"the same":                            {[]obstat.Cond{is("1"), is("1")}, true},
		"another":                             {[]obstat.Cond{is("1"), is("2")}, false},
		"one of two":                          {[]obstat.Cond{is("1", "2"), is("2", "3")}, true},
		"none of two":                         {[]obstat.Cond{is("1", "2"), not(is("1", "2"))}, false},
		"the other of two":                    {[]obstat.Cond{is("1", "2"), not(is("1"))}, true},
		"the list comes last":                 {[]obstat.Cond{not(is("1")), is("1")}, false},
		"left out alone":                      {[]obstat.Cond{not(is("1")), not(is("2"))}, true},
		"at most 5, and at least 5":           {[]obstat.Cond{orders("<=5"), orders(">=5")}, true},
		"below 5 and above 5":                 {[]obstat.Cond{orders("<5"), orders(">5")}, false},
		"between 5 and 6":                     {[]obstat.Cond{orders(">5"), orders("<6")}, true},
		"between 5 and 5.5":                   {[]obstat.Cond{orders(">5"), orders("<5.5")}, true},
		"far apart":                           {[]obstat.Cond{orders(">5"), orders("<500")}, true},
		"below or above":                      {[]obstat.Cond{orders("<1", ">9"), orders(">5")}, true},
		"a value in a range":                  {[]obstat.Cond{is("7"), orders(">5"), orders("<9")}, true},
		"a value out of it":                   {[]obstat.Cond{is("9"), orders(">5"), orders("<9")}, false},
		"a range, then a value out of it":     {[]obstat.Cond{orders(">5"), orders("<9"), is("9")}, false},
		"texts in order":                      {[]obstat.Cond{orders(">a"), orders("<a")}, true}, // nobody knows
		"not below 5, not above 4":            {[]obstat.Cond{not(orders("<5")), not(orders(">4"))}, true},
		"a pattern alone":                     {[]obstat.Cond{like("a*"), like("b*")}, true},
		"a text that fits":                    {[]obstat.Cond{is(`"abc"`), like("a*")}, true},
		"a text that does not":                {[]obstat.Cond{is(`"bc"`), like("a*")}, false},
		"an empty list fits all":              {[]obstat.Cond{is("1"), {Field: "input.x"}}, true},
		"a pattern that cannot be read":       {[]obstat.Cond{is(`"a"`), {Field: "input.x", Any: []obstat.Text{{Flavour: pattern.Full, Text: "("}}}}, true},
		"a value and a pattern in one":        {[]obstat.Cond{{Field: "input.x", Any: append(is(`"b"`).Any, like("a*").Any...)}, is(`"abc"`)}, true},
		"one beside patterns is no list":      {[]obstat.Cond{{Field: "input.x", Any: append(is(`"b"`).Any, like("a*").Any...)}, not(is(`"b"`))}, true},
		"a list that is left out is no list":  {[]obstat.Cond{not(is("1")), orders(">5")}, true},
		"the first list says it, if it is in": {[]obstat.Cond{is("1", "2"), is("2"), is("1")}, false},
	} {
		if got := possible(tt.conds); got != tt.want {
			t.Errorf("%s: possible is %t", name, got)
		}
	}
}

// TestSentenceAlone: a text is a rule of its own if it is one plain rule: without places of a file, conditions and
// several targets.
func TestSentenceAlone(t *testing.T) {
	for text, want := range map[string]string{
		"read src": "allow", "run npm test": listCommands, "tool mcp__a__b": listCommands, "connect a.example": "allow",
		"read src, lib": "", "read my-place except src": "", "raed src": "", "read ../x": "", "tool t where input.x is 1": "", "run git push where force": "",
	} {
		r, list, ok := Sentence(text)
		if ok != (want != "") || ok && (list != want || r.Source != text || r.Verdict != obstat.Allow) {
			t.Errorf("%s: %q, %t: %+v", text, list, ok, r)
		}
		if bad := strings.HasPrefix(text, "ra") || strings.Contains(text, "where") || strings.Contains(text, ".."); bad && (list != "" || !reflect.DeepEqual(r, obstat.Rule{})) {
			t.Errorf("%s: %q %+v", text, list, r)
		}
	}
}

// TestKeepWord: `keep` behind a comma says how long; alone, or in another place, it is a target like any other.
func TestKeepWord(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"write src, keep 7d": 7 * 24 * time.Hour, "write src except src/a, keep 12h": 12 * time.Hour, "write src, keep 1m": time.Minute,
		"write src, keep 366d": 366 * 24 * time.Hour, "write src, keep 4w": 28 * 24 * time.Hour, "run make where force, keep 2h": 2 * time.Hour,
		"write src, keep": 0, "write keep": 0, "write keep, src": 0, "run keep": 0, "run make, keep, ls": 0,
	} {
		s, bad := parseSentence(text)
		if len(bad) > 0 || s.keep != want {
			t.Errorf("%s: %v, %v", text, s.keep, bad)
		}
	}
	targets := map[string]int{"write src, keep": 2, "write keep, src": 2, "write src, keep 7d": 1, "run make, keep, ls": 3}
	for text, want := range targets {
		if s, _ := parseSentence(text); len(s.targets) != want {
			t.Errorf("%s: %d targets", text, len(s.targets))
		}
	}
	for text, want := range map[string]time.Duration{"7d": 7 * 24 * time.Hour, "0d": 0, "d": 0, "7": 0, "": 0, "7y": 0, "-1d": 0, "367d": 0, "52w": 364 * 24 * time.Hour, "53w": 0} {
		if got, err := ageOf(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestUndoText: the word is written as it is read, without what it does not say.
func TestUndoText(t *testing.T) {
	for want, u := range map[string]Undo{
		"": {}, "off": {Off: true, Keep: time.Hour}, "keep 1h0m0s": {Keep: time.Hour}, "budget 1, file 2, call 3, files 4": {Budget: 1, File: 2, Call: 3, Files: 4},
		"keep 1ns, files 1": {Keep: 1, Files: 1},
	} {
		if got := u.String(); got != want {
			t.Errorf("%+v: %q", u, got)
		}
	}
}

// TestLimitLines: a limit that is not said asks, and more lines than a file may have are refused.
func TestLimitLines(t *testing.T) {
	if (&Limit{}).verdict() != obstat.Deny || (&Limit{Rule: &obstat.Rule{Verdict: obstat.Ask}}).verdict() != obstat.Ask {
		t.Error("a limit that cannot be read does not deny, or one that can does")
	}
	if got := LimitsOf(&obstat.Program{View: "other", Rules: map[string][]obstat.Rule{obstat.ListLimit: {{Source: "5 calls per day"}}}}); got != nil {
		t.Errorf("of another dialect: %+v", got)
	}
	for text, want := range map[string]Limit{
		"1 call per day": {Most: 1, Unit: Calls, Per: PerDay}, "2 equal call in a row": {Most: 2, Unit: Equal}, "1000000 asks per session": {Most: maxLimit, Unit: Asks, Per: PerSession},
		"3 write per day": {Most: 3, Unit: Writes, Per: PerDay}, "1 minute per session": {Most: 1, Unit: Minutes, Per: PerSession},
	} {
		got, bad := parseLimit(text)
		if got.Rule = nil; len(bad) > 0 || got != want {
			t.Errorf("%s: %+v, %q", text, got, bad)
		}
	}
	for _, text := range []string{"0 calls per day", "1000001 calls per day", "5 equal", "x calls per day", "5 calls per", "5 calls per day now", "5 equal calls in a", "equal calls"} {
		if got, bad := parseLimit(text); len(bad) == 0 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestPresetNames: each preset has a text, and no other name has one.
func TestPresetNames(t *testing.T) {
	for _, name := range Presets() {
		if !strings.Contains(Preset(name), "version: 1") {
			t.Errorf("%s is %q", name, Preset(name))
		}
	}
	if Preset("none") != "" || (Builtin{}).Name() != "builtin" {
		t.Errorf("%q, %s", Preset("none"), Builtin{}.Name())
	}
	if i := (Builtin{}).Info(); len(i.Files) != 0 || len(i.Agents) != 0 || (Builtin{}).Detect(&dialect.File{Name: File}) != dialect.No {
		t.Errorf("the built-in policy has files: %+v", i)
	}
}

// TestKindsOfQuestions: which questions are about something that nobody knows, here, or about one of many files.
func TestKindsOfQuestions(t *testing.T) {
	q := func(tool string, subjects ...string) *obstat.Question {
		out := &obstat.Question{Tool: tool}
		for i := 0; i < len(subjects); i += 2 {
			out.Subjects = append(out.Subjects, obstat.Subject{Field: subjects[i], Text: subjects[i+1]})
		}
		return out
	}
	many := "/p/" + everyFile
	for _, tt := range []struct {
		q                     *obstat.Question
		unknown, here, partly bool
	}{
		{q("code"), true, false, false},
		{q("run", fieldCommand, "x"), true, false, false},
		{q("run", fieldCommand, "x", fieldKnown, "yes"), false, false, false},
		{q("write", fieldUnnamed, "yes"), true, false, false},
		{q("write", fieldUnnamed, "yes", fieldHere, "yes"), true, true, false},
		{q("read", fieldMaybe, placeWorkspace), false, false, true},
		{q("delete", fieldMaybe, placeWorkspace), false, false, false},
		{q("write", fieldAbs, many, fieldPlace, placeWorkspace), false, false, true},
		{q("delete", fieldAbs, many, fieldPlace, placeWorkspace), false, false, false},
		{q("write", fieldAbs, many, fieldPlace, placeHome), false, false, false},
		{q("read", fieldAbs, many, fieldPlace, placeWorkspace, fieldPlace, placeHome), false, false, true},
		{q("write", fieldAbs, "/p/a", fieldPlace, placeWorkspace), false, false, false},
		{q("connect", fieldHost, ""), false, false, false},
	} {
		v := view{}
		if v.Unknown(tt.q) != tt.unknown || v.Here(tt.q) != tt.here || v.Partly(tt.q) != tt.partly {
			t.Errorf("%+v: unknown %t, here %t, partly %t", tt.q, v.Unknown(tt.q), v.Here(tt.q), v.Partly(tt.q))
		}
	}
}

// TestHostOf: the host of a connection in small letters, registries where a package manager finds it, else none.
func TestHostOf(t *testing.T) {
	for _, tt := range []struct {
		host, raw string
		fetch     bool
		want      string
	}{
		{"A.example.", "", false, "a.example"}, {"", "https://A.example:8/x", false, "a.example"}, {"", "https://A.example/x", true, "a.example"},
		{"", "$URL", false, ""}, {"", "", true, registries}, {"", "left-pad", true, registries}, {"", "https://a.example\\x", true, registries}, {"", "https://a.example\n", false, ""},
		{"", "%zz", false, ""}, {"", "%zz", true, registries},
	} {
		e := &effect.Effect{Kind: effect.Connect, Place: effect.Place{Host: tt.host, Raw: tt.raw}}
		if tt.fetch {
			e.Tags |= effect.Fetch
		}
		if got := hostOf(e); got != tt.want {
			t.Errorf("%q %q, fetch %t: %q", tt.host, tt.raw, tt.fetch, got)
		}
	}
}

// TestPieces: a text that no shell's reader understands is cut where commands may begin.
func TestPieces(t *testing.T) {
	for text, want := range map[string][]string{
		`ls | rm x`: {"ls", "rm x"}, `& "rm"  x`: {"rm x"}, "a;;b\nc\r\n(d){e}`f`": {"a", "b", "c", "d", "e", "f"}, "": nil, " ; ": nil, `"" x`: nil,
		strings.Repeat("a", maxCommand): {strings.Repeat("a", maxCommand)}, strings.Repeat("a", maxCommand+1): nil,
	} {
		if got := pieces(text); !slices.Equal(got, want) {
			t.Errorf("%.40q: %.80q", text, got)
		}
	}
}

// TestBlanks: words of a sentence are parted by blanks of any kind.
func TestBlanks(t *testing.T) {
	for _, text := range []string{"read src", "read\tsrc", "read\nsrc", "read\rsrc", " \t read \r\n src\n"} {
		s, bad := parseSentence(text)
		if len(bad) > 0 || len(s.verbs) != 1 || s.verbs[0] != "read" || len(s.targets) != 1 || s.targets[0].text != "src" {
			t.Errorf("%q: %+v, %v", text, s, bad)
		}
	}
}

// TestInfo: obstat's own file counts for every agent, and what it denies no other file lifts.
func TestInfo(t *testing.T) {
	if i := (Dialect{}).Info(); !i.DenyWins || !slices.Equal(i.Agents, []string{"*"}) || i.Default != File || !slices.Contains(i.Files, File) {
		t.Errorf("%+v", i)
	}
}
