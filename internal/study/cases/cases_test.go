package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// fake is a dialect that keeps what it is given to load: every file is taken
// but one whose text is "bad", and everything asks.
type fake struct {
	loads int
	last  *dialect.Input
}

func (*fake) Name() string { return "fake" }

func (*fake) Detect(*dialect.File) dialect.Confidence { return dialect.Sure }
func (*fake) Library() *obstat.Library                { return &obstat.Library{} }

func (*fake) Info() dialect.Info {
	return dialect.Info{Default: "fake.json", Options: []dialect.Option{{Name: "order"}, {Name: "n"}}}
}

func (f *fake) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) {
	f.loads, f.last = f.loads+1, in
	switch text := string(in.Files[0].Data); text {
	case "bad":
		return nil, obstat.Errors{{Code: obstat.CodeSyntax, Pos: obstat.Pos{File: in.Files[0].Name, Line: 1, Col: 1}, Msg: "bad"}}
	case "worse":
		return nil, obstat.Errors{{Code: obstat.CodeSyntax, Msg: "nowhere"}}
	}
	return &obstat.Program{Mode: "m", Pipelines: map[obstat.Mode]obstat.Pipeline{"m": {Default: obstat.Ask}}}, nil
}

func (*fake) Matched(*obstat.Decision, *obstat.Trace) string { return "the default" }

func (*fake) Offers(_ *dialect.Loaded, c *obstat.Call, _ obstat.World, _ *obstat.Decision) []obstat.Offer {
	return []obstat.Offer{
		{Rule: obstat.Rule{Tool: obstat.Is(c.Tool), Field: "command", Pattern: obstat.Is("ls:*")}},
		{Rule: obstat.Rule{Tool: obstat.Is(c.Tool)}, Text: "everything"},
	}
}

func run(t *testing.T, d dialect.Dialect, line string) Result {
	t.Helper()
	c, err := Parse("f.jsonl", 7, []byte(line))
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Find: func(name string) (dialect.Dialect, error) {
		if name == d.Name() {
			return d, nil
		}
		return nil, errors.New("no such dialect")
	}}
	return r.Run(c)
}

func TestCompare(t *testing.T) {
	for want, pass := range map[string]bool{
		`"want":{"verdict":"ask"}`:                         true,
		`"want":{"verdict":"allow"}`:                       false,
		`"want":{"verdict":"ask","safety":false}`:          true,
		`"want":{"verdict":"ask","safety":true}`:           false,
		`"want":{"verdict":"ask","matched":"the default"}`: true,
		`"want":{"verdict":"ask","matched":null}`:          false,
		`"want":{"verdict":"ask","offers":[{"tool":"Bash","content":"ls:*"},{"tool":"Bash","content":null}]}`: true,
		`"want":{"verdict":"ask","offers":["Bash(ls:*)","everything"]}`:                                       false,
		`"want":{"verdict":"ask","offers":[{"tool":"Bash","content":"ls:*"},"everything"]}`:                   true,
		`"want":{"verdict":"ask","offers":[{"tool":"Bash","content":null},{"tool":"Bash","content":"ls:*"}]}`: false,
		`"want":{"verdict":"ask","offers":[{"tool":"Bash","content":"ls:*"}]}`:                                false,
		`"want":{"verdict":"ask","offers":[]}`:                                                                false,
		`"want":{"error":true}`:                                                                               false,
		`"never":"allow"`:                                                                                     true,
		`"never":"ask"`:                                                                                       false,
	} {
		res := run(t, &fake{}, `{"id":"x","dialect":"fake","policy":{},"call":{"tool":"Bash","input":{}},"floor":"off",`+want+`}`)
		if res.Pass != pass || res.Wanted == "" || res.Got == "" {
			t.Errorf("%s: %+v", want, res)
		}
	}
}

func TestRefused(t *testing.T) {
	for line, pass := range map[string]bool{
		`"fake","policy":"bad","want":{"error":true}`:            true,
		`"fake","policy":"worse","want":{"error":true}`:          false, // an error has to say where
		`"fake","policy":"bad","want":{"verdict":"deny"}`:        false,
		`"fake","policy":"bad","never":"allow"`:                  true,
		`"other","policy":"bad","never":"allow"`:                 false,
		`"other","policy":"bad","want":{"error":true}`:           false,
		`"fake","policy":{},"floor":"x","never":"allow"`:         true,
		`"fake","options":{"x":"y"},"policy":{},"never":"allow"`: true,
	} {
		if res := run(t, &fake{}, `{"id":"x","call":{"tool":"t"},"dialect":`+line+`}`); res.Pass != pass || !res.Refused {
			t.Errorf("%s: %+v", line, res)
		}
	}
}

// TestInput: the dialect gets the configuration byte for byte, and everything
// else the case says.
func TestInput(t *testing.T) {
	d := &fake{}
	run(t, d, `{"id":"x","dialect":"fake","policy":{"b" : 1, "a":[ 2 ]},"options":{"order":"last","n":["a","b"]},"floor":"on",
"tools":{"t":{"kind":"mcp","read_only":true,"check":{"verdict":"ask","safety":true}},"u":{"check":{"verdict":"pass"}}},
"call":{"tool":"t","input":{"x" :1},"dir":null,"roots":[null,"/r"],"channel":"web","subjects":null,"mode":"m","repeat":3},"world":{"home":"/h","links":{"/a":"/b"},"dirs":["/d"]},"never":"deny"}`)
	in := d.last
	if len(in.Files) != 1 || in.Files[0].Name != "fake.json" || string(in.Files[0].Data) != `{"b" : 1, "a":[ 2 ]}` || in.Home != "/h" {
		t.Errorf("files %q, home %q", in.Files, in.Home)
	}
	if fmt.Sprint(in.Options) != "map[floor:on n:a,b order:last]" {
		t.Errorf("options %v", in.Options)
	}
	if tool := in.Tools["t"]; tool.Kind != "mcp" || !tool.ReadOnly || tool.Check == nil || tool.Check.Verdict != obstat.Ask || !tool.Check.Safety || !in.Tools["u"].Check.Pass {
		t.Errorf("tools %+v", in.Tools)
	}
	c, err := Parse("f", 1, []byte(`{"id":"x","dialect":"fake","layers":[{},"text"],"call":{"tool":"t","input":{"x" :1},"dir":null,"roots":[null,"/r"]},"world":{"home":"/h","links":{"/a":"/b"}},"never":"deny"}`))
	if err != nil {
		t.Fatal(err)
	}
	if fs := c.input(d).Files; len(fs) != 2 || fs[1].Name != "layer1/fake.json" || string(fs[1].Data) != "text" || fs[0].Layer == fs[1].Layer {
		t.Errorf("layers %q", fs)
	}
	if string(c.Call.Input) != `{"x" :1}` || c.Call.Dir != "" || len(c.Call.Roots) != 1 || c.World.Links["/a"] != "/b" {
		t.Errorf("call %+v", c.Call)
	}
	c, err = Parse("f", 1, []byte(`{"id":"x","dialect":"fake","files":{"z.yaml":{},"a.yaml":"k: v"},"call":{"tool":"t"},"never":"deny"}`))
	if err != nil {
		t.Fatal(err)
	}
	if fs := c.input(d).Files; len(fs) != 2 || fs[0].Name != "z.yaml" || string(fs[1].Data) != "k: v" {
		t.Errorf("files %q", fs)
	}
}

// TestCache: cases with one configuration load it once; options and home count.
func TestCache(t *testing.T) {
	d := &fake{}
	r := &Runner{Find: func(string) (dialect.Dialect, error) { return d, nil }}
	for i := range 10 {
		for _, more := range []string{`"floor":"on"`, `"floor":"off"`, `"world":{"home":"/x"}`} {
			c, err := Parse("f", i, fmt.Appendf(nil, `{"id":"%d","dialect":"fake","policy":{},"call":{"tool":"t%d"},"never":"allow",%s}`, i, i, more))
			if err != nil {
				t.Fatal(err)
			}
			if res := r.Run(c); !res.Pass {
				t.Errorf("%+v", res)
			}
		}
	}
	if d.loads != 3 {
		t.Errorf("%d loads, want 3", d.loads)
	}
	for i := range maxCache + 10 {
		c, err := Parse("f", i, fmt.Appendf(nil, `{"id":"%d","dialect":"fake","policy":[%d],"call":{"tool":"t"},"never":"allow"}`, i, i))
		if err != nil {
			t.Fatal(err)
		}
		r.Run(c)
	}
	if len(r.cache) > maxCache {
		t.Errorf("%d policies kept", len(r.cache))
	}
}

const good = `{"id":"x","dialect":"fake","policy":{},"call":{"tool":"t"},"never":"allow"}`

func TestParseErrors(t *testing.T) {
	for edit, want := range map[[2]string]string{
		{`"id"`, `"Id"`}:                                                  `f.jsonl:7:2: the key "Id" is written in other capitals`,
		{`"id":"x",`, ``}:                                                 `the key "id" is missing`,
		{`"id":"x"`, `"id":7`}:                                            `"id" should be a string`,
		{`"call":{"tool":"t"}`, `"call":{}`}:                              `the key "tool" is missing`,
		{`"tool":"t"`, `"tool":"t","tol":1`}:                              `unknown key "tol"`,
		{`"tool":"t"`, `"tool":"t","roots":[1]`}:                          `should be a string`,
		{`"tool":"t"`, `"tool":"t","repeat":"1"`}:                         `"repeat" should be a number`,
		{`"tool":"t"`, `"tool":"t","repeat":1e9`}:                         ``,
		{`"policy":{},`, ``}:                                              `one of policy, layers and files; this one has 0`,
		{`"policy":{}`, `"policy":{},"layers":[]`}:                        `this one has 2`,
		{`,"never":"allow"`, ``}:                                          `either want or never`,
		{`"never":"allow"`, `"never":"no"`}:                               `unknown verdict "no"`,
		{`"never":"allow"`, `"want":{}`}:                                  `neither a verdict nor an error`,
		{`"never":"allow"`, `"want":{"verdict":"ask","offers":[7]}`}:      `should be an object`,
		{`"never":"allow"`, `"want":{"verdict":"ask","offer":[]}`}:        `did you mean "offers"`,
		{`"never":"allow"`, `"never":"allow","tools":{"t":{"check":{}}}`}: `the key "verdict" is missing`,
		{`"never":"allow"`, `"never":"allow","world":{"links":{"a":1}}`}:  `should be a string, not a number`,
		{`"never":"allow"`, `"never":"allow","options":{"o":[1]}`}:        `should be a string`,
		{`"never":"allow"`, `"never":"allow","never":"allow"`}:            `stands twice`,
		{`"never":"allow"}`, `"never":"allow"`}:                           `f.jsonl:7:`,
	} {
		_, err := Parse("f.jsonl", 7, []byte(strings.Replace(good, edit[0], edit[1], 1)))
		if want == "" {
			continue
		}
		var es obstat.Errors
		if !errors.As(err, &es) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", edit, err, want)
			continue
		}
		for _, e := range es {
			if e.Pos.Line != 7 || e.Pos.Col < 1 || e.Pos.File != "f.jsonl" {
				t.Errorf("%s: place %v", edit, e.Pos)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add(`{"id":"x","dialect":"fake","files":{"a":{}},"tools":{"t":{"check":{"verdict":"pass"}}},"call":{"tool":"t","input":[1]},"world":{"links":{}},"want":{"verdict":"ask","offers":["x"]}}`)
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse("f", 1, []byte(line))
		if (c == nil) == (err == nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if err != nil {
			return
		}
		if !json.Valid([]byte(line)) {
			t.Errorf("taken: %q", line)
		}
		r := &Runner{Find: func(string) (dialect.Dialect, error) { return &fake{}, nil }}
		if len(c.Config.Files) > 0 {
			r.Run(c)
		}
	})
}
