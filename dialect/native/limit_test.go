package native

import (
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

func TestLimitWord(t *testing.T) {
	for text, want := range map[string]string{
		"200 calls per session":          "200 calls session ask",
		"1 call per day":                 "1 calls day ask",
		"30 writes per day, deny":        "30 writes day deny",
		"5 connections per session, ask": "5 connections session ask",
		"20 asks per day":                "20 asks day deny",
		"90 minutes per session, deny":   "90 minutes session deny",
		"5 equal calls in a row":         "5 equal calls  ask",
		"0 calls per day":                "a limit is a number from 1 to 1000000, not 0",
		"-3 calls per day":               "a limit is a number from 1 to 1000000, not -3",
		"9999999 calls per day":          "a limit is a number from 1 to",
		"99999999999999999999 calls":     "is no whole number",
		"1.5 calls per day":              `"1.5" is no whole number`,
		"many calls per day":             `"many" is no whole number`,
		"5 tokens per day":               `"tokens" cannot be counted: the units are calls, writes`,
		"5 equal words in a row":         `"equal words" cannot be counted`,
		"5 calls per week":               `a limit holds per session or per day, not "per week"`,
		"5 calls":                        `a limit holds per session or per day, not ""`,
		"5 equal calls per day":          `equal calls are counted in a row, not "per day"`,
		"5 calls per day, allow":         `past a limit a call asks or is denied, not "allow"`,
		"20 asks per day, ask":           "past a number of asks nobody is asked",
		"5":                              "it needs a number and a unit",
		"":                               "it needs a number and a unit",
	} {
		l, err := loadText("limit:\n  - '"+text+"'", dialect.LayerUser)
		if err != nil {
			if got := strings.ReplaceAll(err.Error(), File+":", ""); !strings.Contains(got, want) || !strings.HasPrefix(got, "3:5: ") {
				t.Errorf("%s: %s", text, got)
			}
			continue
		}
		limits := LimitsOf(l.Program)
		if len(limits) != 1 || !Aside(l.Program) {
			t.Fatalf("%s: %d limits, aside %v", text, len(limits), Aside(l.Program))
		}
		one := limits[0]
		if got := fmt.Sprintf("%d %s %s %s", one.Most, one.Unit, one.Per, one.Rule.Verdict); got != want || one.Rule.Pos.Line != 3 {
			t.Errorf("%s: %s at %s", text, got, one.Rule.Pos)
		}
	}
}

// TestLimitErrors: all mistakes are told at once, each at its place, and limits of all files hold.
func TestLimitErrors(t *testing.T) {
	_, err := loadText("limit:\n  - 0 tokens per week, maybe\n  - [5]\n  - 5 calls per day\n  - -1 writes per day", dialect.LayerUser)
	if err == nil {
		t.Fatal("loaded")
	}
	for _, want := range []string{"3:5: a limit is a number", "3:5: \"tokens\"", "not \"per week\"", "not \"maybe\"", "4:5: a limit is a text",
		"6:5: a limit is a number"} {
		if !strings.Contains(strings.ReplaceAll(err.Error(), File+":", ""), want) {
			t.Errorf("%s is not told: %v", want, err)
		}
	}
	file := func(layer, text string) dialect.File {
		return dialect.File{Name: layer + "/" + File, Layer: layer, Data: []byte("version: 1\n" + text + "\n")}
	}
	l, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{
		file(dialect.LayerUser, "limit: [9 calls per day]"), file(dialect.LayerProject, "limit: [5 calls per day]\nallow: [read workspace]")}})
	if err != nil || len(LimitsOf(l.Program)) != 2 || Aside(l.Program) {
		t.Fatalf("%v", err)
	}
	c := &obstat.Call{Tool: "limit", Input: []byte(`{}`)}
	if d := l.Policy.Decide(c, &obstat.Snapshot{}); d.Verdict != obstat.Ask || d.Rule != nil {
		t.Errorf("a limit is no rule about a call: %s", d.Reason())
	}
}
