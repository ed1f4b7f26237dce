package obstat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

// TestKeysTwice: two readers of one document must not see two documents, so an
// object that names a key twice, or in two spellings, is refused wherever JSON
// comes in.
func TestKeysTwice(t *testing.T) {
	pol := mustCompile(t, sample(rule(obstat.Deny, "Bash", "command", "rm *"), rule(obstat.Allow, "Bash", "", ""), rule(obstat.Allow, "t", "", "")))
	for _, input := range []string{
		`{"command":"ls","command":"rm x"}`,
		`{"command":"ls","\u0063ommand":"rm x"}`,
		`{"command":"ls","Command":"rm x"}`,
		`{"command":"ls","COMMAND":"rm x"}`,
		`{"` + strings.Repeat("x", 70) + `":1` + manyKeys(80) + `,"k7":2}`,
		`{"x":1` + manyKeys(80) + `,"K7":2}`,
		`{"edits":[{"path":"a","path":"b"}]}`,
		`{"x":{"y":{"z":1,"z":2}}}`,
	} {
		for _, tool := range []string{"Bash", "t"} {
			call := &obstat.Call{Tool: tool, Input: json.RawMessage(input)}
			if d := pol.Decide(call, nil); d.Verdict != obstat.Deny || len(d.Faults) == 0 || !strings.Contains(d.Reason(), "stands twice") {
				t.Errorf("%s %.60s: %v %s", tool, input, d.Verdict, d.Reason())
			}
			if (&obstat.Facts{Call: call}).Fault() == nil {
				t.Errorf("%.60s: no fault", input)
			}
			a := effect.Analyze(&effect.Request{Tool: tool, Input: call.Input})
			if len(a.Gaps) != 1 || a.Gaps[0].Kind != effect.BadInput {
				t.Errorf("%.60s: analysed as %+v", input, a)
			}
		}
	}
	for _, text := range []string{`{"tool":"t","verdict":"deny","verdict":"allow"}`, `{"tool":"t","verdict":"deny","Verdict":"allow"}`,
		`{"tool":{"fnmatch":"a*","fnmatch":"b*"},"verdict":"deny"}`} {
		var r obstat.Rule
		if _, err := obstat.ParseRule([]byte(text)); err == nil || json.Unmarshal([]byte(text), &r) == nil {
			t.Errorf("rule %s is taken", text)
		}
		program := `{"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"ask"}},"rules":{"r":[` + text + `]}}`
		var p obstat.Program
		if _, err := obstat.ParseProgram("p.json", []byte(program)); err == nil || json.Unmarshal([]byte(program), &p) == nil {
			t.Errorf("program %s is taken", program)
		}
		if _, err := pattern.Compile(pattern.JSON, text); (err == nil) != strings.Contains(text, "Verdict") {
			t.Errorf("pattern %s: %v", text, err)
		}
	}
}

// manyKeys returns n members, as many as make a reader keep its keys in a map.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + string(rune('0'+i%10)) + strings.Repeat("a", i/10) + `":0`)
	}
	return b.String()
}
