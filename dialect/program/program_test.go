package program_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/program"
)

const sample = `{"obstat": 1, "mode": "m",
  "pipelines": {"m": {"stages": [{"match": "rules", "rules": "r"}], "default": "ask"}},
  "rules": {"r": [
    {"tool": "Bash", "field": "command", "match": {"wildcard": "git *"}, "verdict": "allow"}
  ]}}`

func load(text string) (*dialect.Loaded, error) {
	return dialect.Load(program.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "p.json", Data: []byte(text)}}})
}

func Example() {
	l, err := load(sample)
	if err != nil {
		fmt.Println(err)
		return
	}
	d := l.Policy.Decide(&obstat.Call{Tool: "Bash", Input: []byte(`{"command":"git status"}`)}, nil)
	fmt.Println(d.Verdict, d.Reason())
	d = l.Policy.Decide(&obstat.Call{Tool: "Bash", Input: []byte(`{"command":"git status; make"}`)}, nil)
	fmt.Println(d.Verdict, "on", d.Part)
	// Output:
	// allow allow rule Bash(git *) (p.json:4:5)
	// ask on make
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]dialect.Confidence{
		sample:                    dialect.Sure,
		`{"mode":"m","obstat":2}`: dialect.Sure,
		`{"obstat":1,"mode":`:     dialect.Sure, // broken, but nobody else's
		`{"Obstat":1}`:            dialect.No,
		`{"a":{"obstat":1}}`:      dialect.No,
		`["obstat"]`:              dialect.No,
		`"obstat"`:                dialect.No,
		``:                        dialect.No,
		"{ \n\"obstat\": 1, \"x\": [" + strings.Repeat(" ", 11<<20): dialect.Sure,
		"[" + strings.Repeat(" ", 11<<20):                           dialect.No,
	} {
		if got := (program.Dialect{}).Detect(&dialect.File{Name: "x", Data: []byte(text)}); got != want {
			t.Errorf("%.40q: %v, want %v", text, got, want)
		}
	}
	// A file of that name is a Program, broken or not, unless it is obstat's entry among an agent's hooks.
	for name, want := range map[string]dialect.Confidence{"p/obstat.json": dialect.Maybe, ".copilot/hooks/obstat.json": dialect.No} {
		if got := (program.Dialect{}).Detect(&dialect.File{Name: name, Data: []byte(`{"version":1,"hooks":{"preToolUse":[]}}`)}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := (program.Dialect{}).Detect(&dialect.File{Name: ".copilot/hooks/obstat.json", Data: []byte(`{"hooks":`)}); got != dialect.Maybe {
		t.Errorf("a broken one: %v", got)
	}
}

func TestRefused(t *testing.T) {
	two := []dialect.File{{Name: "a.json", Data: []byte(sample)}, {Name: "b.json", Data: []byte(sample)}}
	for want, in := range map[string]*dialect.Input{
		"b.json:1:1: a Program stands alone":  {Files: two},
		"no file to read":                     {},
		"takes no tool declarations":          {Files: two[:1], Tools: map[string]dialect.Tool{"x": {}}},
		`has no option "order"`:               {Files: two[:1], Options: map[string]string{"order": "first"}},
		"a.json:1:1: a stage is one of match": nil,
	} {
		if in == nil {
			continue
		}
		if _, err := dialect.Load(program.Dialect{}, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestBadInput: whatever is in the file, there is an error with a code and a
// place, and never a policy.
func TestBadInput(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100_000)
	for _, text := range []string{"", "{", "null", "[]", "\xff\xfe", "\x00", deep, `{"obstat":1}`, `{"obstat":1,"obstat":1}`, strings.Replace(sample, `"mode"`, `"Mode"`, 1),
		strings.Replace(sample, `"git *"`, `"\ud800"`, 1), strings.Replace(sample, `"m",`, `"nowhere",`, 1), strings.Replace(sample, `"rules": "r"`, `"rules": "none"`, 1),
		strings.Replace(sample, `{"wildcard": "git *"}`, `{"re.full": "("}`, 1), strings.Replace(sample, `"Bash"`, `""`, 1), strings.Replace(sample, `"allow"`, `"ALLOW"`, 1),
		strings.Replace(sample, `{"match": "rules", "rules": "r"}`, `{"check": "magic"}`, 1), sample + "x", sample[:len(sample)-3]} {
		l, err := load(text)
		var es obstat.Errors
		if l != nil || !errors.As(err, &es) || len(es) == 0 {
			t.Errorf("%.60q: %v", text, err)
			continue
		}
		for _, e := range es {
			if e.Code == "" || e.Msg == "" {
				t.Errorf("%.60q: %v", text, e)
			}
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(sample)
	f.Add(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"when":"w","tools":["a"],"then":"allow"}],"default":"deny"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := load(text)
		if (l == nil) == (err == nil) {
			t.Fatalf("%v, %v", l, err)
		}
		if err == nil {
			l.Policy.Decide(&obstat.Call{Tool: "Bash", Input: []byte(`{"command":"git status | sh"}`)}, nil)
		}
	})
}

// many returns a Program of n rules.
func many(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[{"match":"r","rules":"r"}],"default":"ask"}},"rules":{"r":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"tool":"tool%d","field":"command","match":{"wildcard":"prog%d sub%d *"},"verdict":"allow"}`, i%50, i, i%7)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

// TestManyRules: a long list is read, indexed and found in.
func TestManyRules(t *testing.T) {
	const n = 5_000
	l, err := load(string(many(n)))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, n / 2, n - 1} {
		call := &obstat.Call{Tool: fmt.Sprintf("tool%d", i%50), Input: fmt.Appendf(nil, `{"command":"prog%d sub%d x"}`, i, i%7)}
		if d := l.Policy.Decide(call, nil); d.Verdict != obstat.Allow {
			t.Errorf("rule %d: %v", i, d.Verdict)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		text := string(many(n))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := load(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
