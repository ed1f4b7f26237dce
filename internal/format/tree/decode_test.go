package tree_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type inner struct {
	N    int             `json:"n"`
	Text *string         `json:"text,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

type outer struct {
	inner
	List []string         `json:"list,omitempty"`
	Map  map[string]inner `json:"map,omitempty"`
	Kept string           `json:"-"`
}

func TestDecode(t *testing.T) {
	const src = `{"n": 3, "text": "a", "raw": [1 , 2], "list": ["x"], "map": {"k": {"n": 0, "text": null, "raw": null}}}`
	var got outer
	if ps := parse(t, src).Decode([]byte(src), &got); len(ps) > 0 {
		t.Fatal(ps)
	}
	if got.N != 3 || *got.Text != "a" || string(got.Raw) != "[1 , 2]" || got.List[0] != "x" || got.Map["k"].Text != nil || string(got.Map["k"].Raw) != "null" {
		t.Errorf("%+v", got)
	}
	for src, want := range map[string]string{
		`[]`:                               `0 the value should be an object, not a list`,
		`{}`:                               `0 the key "n" is missing`,
		`{"n": null}`:                      `6 "n" should be a number, not null`,
		`{"n": -1}`:                        `6 n should be a whole number from zero up`,
		`{"n": 1.5, "N": 1}`:               `6 n should be a whole number from zero up|11 the key "N" is written in other capitals than "n"`,
		`{"n": 1, "kept": 1}`:              `9 unknown key "kept"`,
		`{"n": 1, "list": [1, null]}`:      `18 element 1 of list should be a string, not a number|21 element 2 of list should be a string, not null`,
		`{"n": 1, "map": {"k": {"m": 1}}}`: `22 the key "n" is missing|23 unknown key "m"`,
	} {
		var texts []string
		for _, p := range parse(t, src).Decode([]byte(src), &outer{}) {
			texts = append(texts, fmt.Sprintf("%d %s", p.Offset, p.Msg))
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}
