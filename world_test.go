package obstat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat"
)

// TestSecretsOnDisk: secrets are found below a directory, but not in packages or git's own, and all is
// false where there may be more: past the bounds, behind a link, or where nothing can be read.
func TestSecretsOnDisk(t *testing.T) {
	many := func(dir string, n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%s/%d.txt", dir, i))
		}
		return out
	}
	secrets := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%02d/.env", i))
		}
		return out
	}
	for name, tt := range map[string]struct {
		files []string
		link  string // where the link `l` leads
		found int
		all   bool
	}{
		"none":                   {files: []string{"a.txt", "src/b.txt"}, all: true},
		"one below":              {files: []string{"a/b/.env", "a/x"}, found: 1, all: true},
		"of packages":            {files: []string{"node_modules/a/.env", ".git/.env"}, all: true},
		"many":                   {files: secrets(15), found: 15, all: true},
		"more than are told":     {files: secrets(16), found: 16},
		"a link to another file": {files: []string{"a.txt"}, link: "a.txt", all: true},
		"a link to a secret":     {files: []string{".git/.env"}, link: ".git/.env"},
		"a link to nothing":      {files: []string{"a.txt"}, link: "none"},
		"as many files":          {files: append(many("a", 1999), many("b", 1999)...), all: true}, // with a and b
		"more files":             {files: append(many("a", 2000), many("b", 1999)...)},
	} {
		dir := t.TempDir()
		for _, file := range tt.files {
			at := filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if tt.link != "" {
			if err := os.Symlink(tt.link, filepath.Join(dir, "l")); err != nil {
				t.Fatal(err)
			}
		}
		if files, all := (obstat.OS{}).Secrets(dir); len(files) != tt.found || all != tt.all {
			t.Errorf("%s: %d secrets, all of them: %t", name, len(files), all)
		}
	}
	if files, all := (obstat.OS{}).Secrets(filepath.Join(t.TempDir(), "none")); files != nil || !all {
		t.Errorf("of a directory that is not there: %q, %t", files, all)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, all := (obstat.OS{}).Secrets(file); all {
		t.Error("of a file all is known")
	}
}

// TestAfterApproval: a refusal leaves nothing behind that a call could still run by, and an approval none
// of the doubts that it settled; neither lifts a denial or a fault.
func TestAfterApproval(t *testing.T) {
	asked := obstat.Decision{Verdict: obstat.Ask, Tool: "bash", Safety: true, Over: obstat.OverAutoMode, OnlyUnknown: true, Partly: true,
		Confined: &obstat.Confined{}, Offers: []obstat.Offer{{Text: "x"}}, Input: []byte(`{}`)}
	by := obstat.By{Kind: obstat.ByPerson, Note: "no"}
	d := asked.Refuse(by)
	if d.Over != 0 || d.OnlyUnknown || d.Partly || d.Confined != nil || d.Safety || d.Offers != nil || d.Input != nil || d.Stage != obstat.StageApproval {
		t.Errorf("refused: %+v", d)
	}
	if d = asked.Approve(by); d.Verdict != obstat.Allow || d.OnlyUnknown || d.Partly || string(d.Input) != `{}` || d.By.Kind != obstat.ByPerson {
		t.Errorf("approved: %+v", d)
	}
	for _, no := range []obstat.Decision{{Verdict: obstat.Deny}, {Verdict: obstat.Ask, Faults: []obstat.Fault{{Msg: "no disk"}}}} {
		if got := no.Approve(by); got.Verdict != no.Verdict || got.Stage == obstat.StageApproval {
			t.Errorf("%s is lifted: %+v", no.Verdict, got)
		}
	}
}
