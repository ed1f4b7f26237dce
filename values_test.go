package obstat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/internal/format/jsonl"
	"github.com/obstat/obstat/internal/study/cases"
)

// TestNames: verdicts, kinds and judges are read by the names that they are written with, and by no other.
func TestNames(t *testing.T) {
	for v, name := range map[obstat.Verdict]string{obstat.Deny: "deny", obstat.Ask: "ask", obstat.Allow: "allow"} {
		var got obstat.Verdict
		text, err := json.Marshal(v)
		if err != nil || string(text) != `"`+name+`"` || json.Unmarshal(text, &got) != nil || got != v {
			t.Errorf("%s: %s %v %v", name, text, got, err)
		}
	}
	v := obstat.Allow
	if err := v.UnmarshalText([]byte("Allow")); err == nil || v != obstat.Deny {
		t.Errorf("%v %v", v, err)
	}
	if got := obstat.Verdict(3).String(); got != "deny" {
		t.Error(got)
	}
	people := []obstat.ByKind{obstat.ByGrant, obstat.ByPerson}
	for k := obstat.ByDefault; k <= obstat.ByConfined; k++ {
		var got obstat.ByKind
		text, err := k.MarshalText()
		if err != nil || string(text) != k.String() || got.UnmarshalText(text) != nil || got != k {
			t.Errorf("%d: %s %v %v", k, text, got, err)
		}
		if (obstat.By{Kind: k}).Person() != slices.Contains(people, k) {
			t.Errorf("%s: a person", k)
		}
	}
	k := obstat.ByRule
	if text, err := (obstat.ByConfined + 1).MarshalText(); err == nil || text != nil {
		t.Errorf("%s", text)
	}
	if err := k.UnmarshalText([]byte("luck")); err == nil {
		t.Error(k)
	}
	both := obstat.OverAutoMode | obstat.OverReviewer
	if both.String() != "auto-mode, reviewer" || obstat.Over(0).String() != "" {
		t.Error(both)
	}
	for _, word := range []string{"auto-mode", "reviewer", "parts"} {
		if o, ok := obstat.ParseOver(word); !ok || o.String() != word || !o.Has(o) || both.Has(o) != (word != "parts") {
			t.Errorf("%s: %v %t", word, o, ok)
		}
	}
	if o, ok := obstat.ParseOver("everything"); ok || o != 0 || both.Has(0) || obstat.OverAutoMode.Has(both) {
		t.Errorf("%v %t", o, ok)
	}
	set := obstat.SetOf(obstat.Deny, obstat.Allow)
	if fmt.Sprint(set.List(), obstat.Verdicts(0).List()) != "[deny allow] [deny ask allow]" || set.Has(obstat.Ask) {
		t.Error(set.List())
	}
}

// TestDigest: a digest is bound to tool and input, and to which of them a byte is in.
func TestDigest(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []obstat.Call{{}, {Tool: "a"}, {Input: []byte("a")}, {Tool: "ab", Input: []byte("c")}, {Tool: "a", Input: []byte("bc")}} {
		d := c.Digest()
		text := c.DigestText()
		if other, twice := seen[text]; twice || fmt.Sprintf("%x", d) != text {
			t.Errorf("%s %s has the digest of %s", c.Tool, c.Input, other)
		}
		seen[text] = c.Tool + " " + string(c.Input)
		c.Dir, c.Session = "/elsewhere", "s"
		if c.DigestText() != text {
			t.Error("the directory is part of the digest")
		}
	}
}

// TestCallText: a call in short is its command, path or address, else its subject.
func TestCallText(t *testing.T) {
	for _, tt := range []struct {
		c    obstat.Call
		want string
	}{
		{obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, "ls"},
		{obstat.Call{Tool: "Read", Input: []byte(`{"file_path":"a"}`)}, "a"},
		{obstat.Call{Tool: "WebFetch", Input: []byte(`{"url":"http://h"}`)}, "http://h"},
		{obstat.Call{Tool: "Bash", Input: []byte(`{"command":""}`), Subjects: []string{"x", "y"}}, "x"},
		{obstat.Call{Tool: "Bash", Input: []byte(`{"command":5}`)}, ""},
	} {
		if got := tt.c.Text(); got != tt.want {
			t.Errorf("%s %s: %q", tt.c.Tool, tt.c.Input, got)
		}
	}
}

// TestPlaces: which directories a call is in, and where its rules start.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		c         obstat.Call
		anchor    string
		workspace string
	}{
		{obstat.Call{}, "", "[]"},
		{obstat.Call{Dir: "/p"}, "/p", "[/p]"},
		{obstat.Call{Dir: "/p/src", Roots: []string{"/p"}}, "/p", "[/p]"},
		{obstat.Call{Dir: "/q", Roots: []string{"/p"}}, "/p", "[/p /q]"},
		{obstat.Call{Dir: "/q", Roots: []string{""}}, "/q", "[ /q]"},
		{obstat.Call{Dir: "/q", Roots: []string{"/p"}, Project: "/r"}, "/r", "[/p /q]"},
	} {
		if tt.c.Anchor() != tt.anchor || fmt.Sprint(tt.c.Workspace()) != tt.workspace {
			t.Errorf("%+v: %q %v", tt.c, tt.c.Anchor(), tt.c.Workspace())
		}
	}
}

// TestErrorsInWords: an error says its place as far as it is known.
func TestErrorsInWords(t *testing.T) {
	for want, e := range map[string]obstat.Error{
		"m [io]":                   {Code: obstat.CodeIO, Msg: "m"},
		"f: m [io]":                {Code: obstat.CodeIO, Msg: "m", Pos: obstat.Pos{File: "f"}},
		"f:1: m [io]":              {Code: obstat.CodeIO, Msg: "m", Pos: obstat.Pos{File: "f", Line: 1}},
		"f:1:2: m [io]":            {Code: obstat.CodeIO, Msg: "m", Pos: obstat.Pos{File: "f", Line: 1, Col: 2}},
		"1:2: m [io]":              {Code: obstat.CodeIO, Msg: "m", Pos: obstat.Pos{Line: 1, Col: 2}},
		"warning: m [io]; do that": {Code: obstat.CodeIO, Msg: "m", Hint: "do that", Warning: true},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
	at := func(file string, line, col int) *obstat.Error {
		return &obstat.Error{Code: obstat.CodeIO, Pos: obstat.Pos{File: file, Line: line, Col: col}}
	}
	es := obstat.Errors{at("b", 1, 1), at("a", 2, 1), at("a", 1, 2), {Code: obstat.CodeIO, Warning: true}, at("a", 1, 1)}
	if got := es.Fatal().Error(); got != "a:1:1:  [io]\na:1:2:  [io]\na:2:1:  [io]\nb:1:1:  [io]" {
		t.Error(got)
	}
	if err := (obstat.Errors{{Warning: true}}).Fatal(); err != nil {
		t.Error(err)
	}
	if got := obstat.ErrorsOf(fmt.Errorf("wrapped: %w", es)); len(got) != len(es) {
		t.Error(got)
	}
	if got := obstat.ErrorsOf(errors.New("x")); len(got) != 1 || got[0].Msg != "x" || got[0].Code != obstat.CodeBadValue {
		t.Error(got)
	}
}

// TestWorlds: the machine, a recorder of it and the record give the same answers.
func TestWorlds(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	long := filepath.Join(dir, strings.Repeat("l/", 150)+"x") // longer than a buffer of Readlink's
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600),
		os.Symlink("sub", filepath.Join(dir, "link")), os.Symlink(long, filepath.Join(dir, "long")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	type world interface {
		obstat.World
		IsFile(string) bool
		List(string) (links, dirs []string, all bool)
	}
	ask := func(w world) string {
		var out []string
		say := func(v ...any) { out = append(out, fmt.Sprint(v...)) }
		home, ok := w.Home("")
		say("home ", home, ok)
		none, ok := w.Home("no such user")
		say("none ", none, ok)
		for _, name := range []string{"", "sub", "file", "link", "long", "missing"} {
			to, ok := w.Readlink(filepath.Join(dir, name))
			say(name, " leads to ", to, ok, " dir ", w.IsDir(filepath.Join(dir, name)), " file ", w.IsFile(filepath.Join(dir, name)))
		}
		for _, name := range []string{"", "sub", "missing"} {
			links, dirs, all := w.List(filepath.Join(dir, name))
			slices.Sort(links)
			slices.Sort(dirs)
			say(name, " has ", links, dirs, all)
		}
		return strings.Join(out, "\n")
	}
	want := fmt.Sprintf(`home %[1]s true
none  false
 leads to  false dir true file false
sub leads to  false dir true file false
file leads to  false dir false file true
link leads to sub true dir true file false
long leads to %[2]s true dir false file false
missing leads to  false dir false file false
 has [link long] [sub] true
sub has [] [] true
missing has [] [] true`, dir, long)
	first := ask(obstat.OS{})
	if strings.ReplaceAll(first, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("the machine says\n%s\nwant\n%s", first, want)
	}
	rec := &obstat.Recorder{Of: obstat.OS{}}
	for range 2 { // noted once
		if recorded := ask(rec); recorded != first {
			t.Errorf("recorded\n%s\nwas\n%s", recorded, first)
		}
	}
	seen := rec.Seen()
	if seen == nil || len(seen.Dirs) != 3 || len(seen.Files) != 1 || len(seen.Links) != 2 {
		t.Fatalf("%+v", seen)
	}
	replayed := ask(seen)
	if strings.Replace(replayed, "[link long] [link sub]", "[link long] [sub]", 1) != first {
		t.Errorf("replayed\n%s\nwas\n%s", replayed, first)
	}
	if links, dirs, all := (obstat.OS{}).List(filepath.Join(dir, "file")); links != nil || dirs != nil || !all {
		t.Errorf("a file has %v %v %t", links, dirs, all)
	}
	root := &obstat.Snapshot{Dirs: []string{"/", "/a", "/a/b"}, Homes: map[string]string{"ann": "/home/ann"}}
	if links, dirs, all := root.List("/"); len(links) != 0 || fmt.Sprint(dirs) != "[a]" || !all {
		t.Errorf("%v %v %t", links, dirs, all)
	}
	if home, ok := root.Home(""); ok || home != "" {
		t.Error("a home that is not known")
	}
	of := &obstat.Recorder{Of: root}
	if home, ok := of.Home("ann"); !ok || home != "/home/ann" || of.Seen().Homes["ann"] != home {
		t.Errorf("%q %t", home, ok)
	}
	blind := &obstat.Recorder{}
	if _, ok := blind.Home(""); ok || blind.IsDir("/") || blind.IsFile("/") {
		t.Error("a recorder of nothing knows something")
	}
	if _, ok := blind.Readlink("/"); ok {
		t.Error("a recorder of nothing knows a link")
	}
}

// TestTooMuchSeen: more than a thousand answers are not recorded, and a thousand are.
func TestTooMuchSeen(t *testing.T) {
	for _, n := range []int{1000, 1001} {
		files, dirs, links := &obstat.Snapshot{}, &obstat.Snapshot{}, &obstat.Snapshot{Links: map[string]string{}}
		for i := range n {
			name := fmt.Sprint("/d/", i)
			files.Files, dirs.Dirs, links.Links[name] = append(files.Files, name), append(dirs.Dirs, name), "/x"
		}
		for kind, w := range map[string]*obstat.Snapshot{"files": files, "dirs": dirs, "links": links} {
			rec := &obstat.Recorder{Of: w}
			for i := range n {
				name := fmt.Sprint("/d/", i)
				rec.IsFile(name)
				rec.IsDir(name)
				rec.Readlink(name)
			}
			if got := rec.Seen() != nil; got != (n == 1000) {
				t.Errorf("%d %s: recorded %t", n, kind, got)
			}
		}
		rec := &obstat.Recorder{Of: links}
		if _, _, all := rec.List("/d"); all != (n == 1000) || (rec.Seen() != nil) != (n == 1000) {
			t.Errorf("%d listed: all %t, seen %v", n, all, rec.Seen() != nil)
		}
	}
}

// TestRecorderAnalysis: the analysis of the call to decide is made once, and not taken for that of another.
func TestRecorderAnalysis(t *testing.T) {
	rec := &obstat.Recorder{Of: lab()}
	ls := &obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Dir: "/p"}
	first := rec.Analysis(ls)
	if rec.Analysis(ls) != first {
		t.Error("analysed twice")
	}
	for name, other := range map[string]obstat.Call{
		"tool": {Tool: "bash", Input: ls.Input, Dir: ls.Dir}, "dir": {Tool: ls.Tool, Input: ls.Input, Dir: "/q"},
		"input": {Tool: ls.Tool, Input: []byte(`{"command":"rm"}`), Dir: ls.Dir},
	} {
		if rec.Analysis(&other) == first {
			t.Errorf("another %s, the same analysis", name)
		}
	}
	ls.Input[13] = 'x' // the host uses its buffer again
	if rec.Analysis(&obstat.Call{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Dir: "/p"}) != first {
		t.Error("the recorder keeps the caller's buffer")
	}
}

// TestRuleKeepsEverything: each field of a rule is written and read again, and makes another rule.
func TestRuleKeepsEverything(t *testing.T) {
	full := obstat.Rule{
		ID: "i", Tool: obstat.Is("Bash"), Field: "command", Pattern: obstat.Is("ls"), Verdict: obstat.Allow, Over: obstat.OverAutoMode,
		If:     []obstat.Cond{{Field: "call.branch", Any: []obstat.Text{obstat.Is("main")}, Not: true}},
		Except: []obstat.Cond{{Field: "command", Any: []obstat.Text{obstat.Is("ls -a")}}},
		Source: "s", Layer: "l", Reason: "r", Pos: obstat.Pos{File: "f", Line: 2, Col: 3},
	}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var again obstat.Rule
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again, full) {
		t.Fatalf("%s: %+v, %v", text, again, err)
	}
	v := reflect.ValueOf(&again).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		again = full
		v.Field(i).SetZero()
		if same := again.Same(&full); same != (name == "Pos") {
			t.Errorf("without %s the same: %t", name, same)
		}
		if name == "Verdict" {
			again.Over = 0 // only an allow has some
		}
		if got, err := obstat.ParseRule(must(json.Marshal(again))); err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("without %s: %+v %v", name, got, err)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestStageNames: each stage has the name that it was given.
func TestStageNames(t *testing.T) {
	for _, s := range []obstat.Stage{obstat.Match{Name: "n"}, obstat.Check{Name: "n"}, obstat.When{Name: "n"}, obstat.Mark{Name: "n"}, obstat.Floor{Name: "n"}} {
		if s.StageName() != "n" {
			t.Errorf("%T: %q", s, s.StageName())
		}
	}
	if got := (obstat.Floor{}).StageName(); got != "floor" {
		t.Error(got)
	}
}

// TestAnsweredDecisions: an approval lifts an ask and nothing else, and a refusal takes all back.
func TestAnsweredDecisions(t *testing.T) {
	rule := &obstat.Rule{Tool: obstat.Is("Bash"), Verdict: obstat.Ask}
	ann := obstat.By{Kind: obstat.ByPerson, Who: "ann", Note: "approved by ann"}
	ask := obstat.Decision{Verdict: obstat.Ask, Tool: "Bash", Rule: rule, Part: "rm", Input: []byte(`{}`), OnlyUnknown: true, Safety: true, Mode: "m",
		Over: obstat.OverAutoMode, Confined: &obstat.Confined{}, Offers: []obstat.Offer{{}}}
	got := ask.Approve(ann)
	if got.Verdict != obstat.Allow || got.Rule != rule || got.By != ann || got.Part != "rm" || string(got.Input) != "{}" || got.Stage != obstat.StageApproval || got.Mode != "m" {
		t.Errorf("%+v", got)
	}
	for name, d := range map[string]obstat.Decision{"denied": {}, "faulty": {Verdict: obstat.Ask, Faults: []obstat.Fault{{Msg: "x"}}}} {
		if got := d.Approve(ann); got.Verdict != d.Verdict || got.By != d.By {
			t.Errorf("%s: %+v", name, got)
		}
	}
	no := ask.Refuse(obstat.By{Kind: obstat.ByPerson, Note: "not today"})
	if no.Verdict != obstat.Deny || no.Safety || no.OnlyUnknown || no.Over != 0 || no.Confined != nil || no.Offers != nil || no.Input != nil || no.Note != "not today" {
		t.Errorf("%+v", no)
	}
	limits := &obstat.Confined{Level: "full"}
	inside := []byte(`{"command":"obstat run"}`)
	for _, tt := range []struct {
		name string
		d    obstat.Decision
		want bool
	}{
		{"only unknown", obstat.Decision{Verdict: obstat.Ask, OnlyUnknown: true, Marks: []string{"m"}, About: "make"}, true},
		{"a safety ask that is only unknown", obstat.Decision{Verdict: obstat.Ask, OnlyUnknown: true, Safety: true}, true},
		{"allowed", obstat.Decision{Verdict: obstat.Allow}, true},
		{"denied", obstat.Decision{OnlyUnknown: true}, false},
		{"asked", obstat.Decision{Verdict: obstat.Ask}, false},
		{"faulty", obstat.Decision{Verdict: obstat.Ask, OnlyUnknown: true, Faults: []obstat.Fault{{}}}, false},
		{"rewritten", obstat.Decision{Verdict: obstat.Ask, OnlyUnknown: true, Input: []byte(`{}`)}, false},
	} {
		got := tt.d.Confine(limits, inside)
		if (got.Verdict == obstat.Allow && got.Confined == limits && string(got.Input) == string(inside)) != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
		if !tt.want && !reflect.DeepEqual(got, tt.d) || tt.want && (len(got.Marks) != len(tt.d.Marks) || got.About != tt.d.About) {
			t.Errorf("%s: %+v, was %+v", tt.name, got, tt.d)
		}
	}
}

// TestRecordedAnswers: some of the answers that other systems gave, and that harmful calls want.
func TestRecordedAnswers(t *testing.T) {
	run := cases.Runner{Find: all.Find}
	for _, name := range []string{"dialect/all/testdata/harm.jsonl.gz", "dialect/all/testdata/asks.jsonl.gz", "dialect/agentscope/testdata/document.jsonl.gz",
		"dialect/jiuwen/testdata/jiuwen-document.jsonl.gz", "dialect/opencode/testdata/opencode-document.jsonl.gz", "dialect/adkfluent/testdata/document.jsonl.gz",
		"dialect/gemini/testdata/gemini-program.jsonl.gz"} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := jsonl.NewReader(f)
		for n := 0; ; n++ {
			line, err := lines.Next()
			if err != nil {
				break
			}
			if n%8 != 0 {
				continue
			}
			c, err := cases.Parse(name, lines.Line(), line)
			if err != nil {
				t.Fatal(err)
			}
			// Of this one the recorder wrote down that an allow rule was dropped; the other rules count.
			if res := run.Run(c); !res.Pass && c.ID != "gemini/program-0753" {
				t.Errorf("%s:%d: %+v", name, lines.Line(), res)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
