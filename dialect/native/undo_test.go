package native

import (
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/dialect"
)

func loadText(text, layer string) (*dialect.Loaded, error) {
	return dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: File, Layer: layer, Data: []byte("version: 1\n" + text + "\n")}}})
}

func TestUndoWord(t *testing.T) {
	for text, want := range map[string]string{
		"undo: off":         "off",
		"undo: {keep: 14d}": "keep 336h0m0s",
		"undo: {keep: 2w, budget: 4G, file: 128M, call: 512M, files: 20000}": "keep 336h0m0s, budget 4294967296, file 134217728, call 536870912, files 20000",
		"undo: on":                 `error: 2:7: undo has limits or is off, not "on"`,
		"undo: [off]":              "error: 2:7: ",
		"undo: {keep: soon}":       `error: 2:14: "soon" is no length of time that changes are kept`,
		"undo: {keep: 0d}":         `error: 2:14: "0d" is no length`,
		"undo: {keep: -1d}":        `error: 2:14: "-1d" is no length`,
		"undo: {keep: 9999999w}":   `error: 2:14: "9999999w" is no length`,
		"undo: {keep: d}":          `error: 2:14: "d" is no length`,
		"undo: {keep: 7}":          "error: 2:14: ",
		"undo: {budget: lots}":     `error: 2:16: "lots" is no size`,
		"undo: {file: -1M}":        `error: 2:14: `,
		"undo: {files: 0}":         "error: 2:15: the files of one call are a number from 1",
		"undo: {files: 1.5}":       "error: 2:15: the files of one call",
		"undo: {limit: 1G}":        `error: 2:8: unknown key "limit"`,
		"undo: {keep: x, file: y}": "error: 2:23: ", // both at once
	} {
		l, err := loadText(text, dialect.LayerUser)
		got := ""
		if err != nil {
			got = "error: " + strings.ReplaceAll(err.Error(), File+":", "")
		} else if u, said := UndoOf(l.Program); !said || !Aside(l.Program) {
			t.Errorf("%s: not said, or not aside", text)
		} else {
			got = u.String()
		}
		rest, bad := strings.CutPrefix(want, "error: ")
		if bad && (err == nil || !strings.Contains(got, rest)) || !bad && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestUndoBudget: one project does not set the budget of all.
func TestUndoBudget(t *testing.T) {
	l, err := loadText("undo: {budget: 1M, keep: 1d}", dialect.LayerProject)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := UndoOf(l.Program)
	if u.Budget != 0 || u.Keep != 24*time.Hour || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Msg, "one for all projects") {
		t.Errorf("%+v %v", u, l.Warnings)
	}
}

// TestKeepOfRule: a rule says how long the changes are kept that it allows.
func TestKeepOfRule(t *testing.T) {
	for rule, want := range map[string]time.Duration{
		"delete workspace, keep 7d":                        7 * 24 * time.Hour,
		"delete workspace except .git/**, keep 12h":        12 * time.Hour,
		"write and delete src/**, docs/**, keep 4w":        28 * 24 * time.Hour,
		"run git reset, git clean, keep 30m":               30 * time.Minute,
		"tool t where input.x in [1, 2], keep 1d":          24 * time.Hour,
		"delete workspace":                                 0,
		"delete src/**, keep/**":                           0, // a directory of that name
		"run make, \"keep 7d\"":                            0, // a command of that name
		"tool t where input.x is 1 and input.y is 2":       0,
		"write workspace except .git/**, secrets, keep 1w": 7 * 24 * time.Hour,
	} {
		l, err := loadText("allow:\n  - '"+rule+"'", "")
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		found := false
		for _, list := range l.Program.Rules {
			for i := range list {
				if list[i].Source == rule {
					if found = true; KeptBy(&list[i]) != want {
						t.Errorf("%s: kept for %v, want %v", rule, KeptBy(&list[i]), want)
					}
				}
			}
		}
		if !found {
			t.Errorf("%s: no rule", rule)
		}
	}
	for text, want := range map[string]string{
		"allow:\n  - delete workspace, keep soon":   `3:28: "soon" is no length of time`,
		"allow:\n  - delete workspace, keep 7d 8d":  `3:31: "8d" is one word too many`,
		"allow:\n  - read workspace, keep 7d":       "3:21: to read changes no file",
		"allow:\n  - connect example.com, keep 7d":  "3:26: to connect changes no file",
		"ask:\n  - delete workspace, keep 7d":       "3:23: changes are kept of calls that are allowed",
		"deny:\n  - delete workspace, keep 7d":      "3:23: changes are kept of calls that are allowed",
		"allow:\n  - delete workspace, keep 7d, x":  "3:30: ",
		"allow:\n  - delete workspace, keep 999w":   `3:28: "999w" is no length of time`,
		"allow:\n  - delete workspace, keep 7 days": `3:28: "7" is no length of time`,
	} {
		if _, err := loadText(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
