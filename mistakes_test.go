package obstat_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/obstat/obstat"
)

// TestMistakes: the problems of each Program of testdata/mistakes.txt are those below it, at their places.
func TestMistakes(t *testing.T) {
	const name = "testdata/mistakes.txt"
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for line := range strings.Lines(string(want)) {
		if line[0] == '\t' {
			continue
		}
		got.WriteString(line)
		if line[0] == '#' { // says what the Programs below it have wrong
			continue
		}
		p, err := obstat.ParseProgram("f", []byte(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n")))
		if err == nil || p != nil {
			t.Errorf("%s is taken", line)
			continue
		}
		for _, e := range obstat.ErrorsOf(err) {
			fmt.Fprintf(&got, "\t%v", e)
			for _, also := range e.Also {
				fmt.Fprintf(&got, ", as at %s", also)
			}
			got.WriteByte('\n')
		}
	}
	if *update {
		err = os.WriteFile(name, got.Bytes(), 0o644)
	} else if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Error(diff)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneMistake: a mistake is one problem, at its place, which is marked here, and what stands behind it is read.
func TestOneMistake(t *testing.T) {
	for _, member := range []string{
		`@"rulez":{"a":[{"b":[1,2]}]}`,
		`@"rulez":[[],{}]`,
		`"faces":{@"smell":{"tool":"x","field":"y"}}`,
		`"faces":{"read":@{"tool":"x"}}`,
		`"view":@{"a":[1]}`,
		`"floor":@[{"a":1}]`,
		`"rules":{"l":@{"a":1}}`,
		`"rules":{"l":[{"tool":{"glob":@{"x":[1]}},"verdict":"deny"}]}`,
		`"rules":{"l":[{"tool":"t","verdict":@{"deny":true}}]}`,
		`"rules":{"l":[{"tool":"t","verdict":"deny","over":@["reviewer"]}]}`,
		`"rules":{"l":[{"tool":"t","verdict":"allow","over":[@"me"]}]}`,
		`"rules":{"l":[{"tool":"t","verdict":"deny","pos":{"line":@"1"}}]}`,
		`"rules":{"l":[{"tool":"t","verdict":"deny","pos":{"line":@1.5}}]}`,
		`"rules":{"l":[{"tool":{"any":@false},"verdict":"deny"}]}`,
		`"rules":{"l":[{"tool":@{"exact":"a","re.full":"b"},"verdict":"deny"}]}`,
		`"rules":{"l":[{"tool":"t","match":@{"any":true},"verdict":"deny"}]}`,
		`"rules":{"l":[{"tool":"t","verdict":"deny","if":[@{"field":"call.x"}]}]}`,
	} {
		marked := `{` + member + `,"obstat":1,"mode":"m","pipelines":{"m":{"stages":[],"default":"ask"}}}`
		text := strings.Replace(marked, "@", "", 1)
		want := obstat.Pos{File: "f", Line: 1, Col: strings.Index(marked, "@") + 1}
		_, err := obstat.ParseProgram("f", []byte(text))
		list := obstat.ErrorsOf(err)
		if len(list) == 0 {
			t.Errorf("%s is taken", text)
		}
		for _, e := range list { // a value of the wrong type may be a bad value as well
			if e.Pos != want {
				t.Errorf("%s: %v, want it at column %d", text, e, want.Col)
			}
		}
	}
}
