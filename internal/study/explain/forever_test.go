package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

func TestForever(t *testing.T) {
	for text, want := range map[string]string{
		"git push origin main":              "cannot be taken back",
		"curl -d x https://api.example.com": "sent to api.example.com cannot be taken back",
		"psql -h db -c 'drop table users'":  "cannot be taken back",
		"kill 1":                            "more than files",
		"ssh host rm x":                     "cannot be",
		"rm -rf src":                        "",
		"git reset --hard":                  "",
		"ls && cat a":                       "",
		"curl -d x https://a.org; kill 1":   "sent to a.org cannot be taken back; this is more than files",
	} {
		a := Analyze(&obstat.Call{Tool: "Bash", Input: input(text), Dir: "/p"}, &obstat.Snapshot{Dirs: []string{"/p"}})
		got := strings.Join(Forever(a), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestToTry(t *testing.T) {
	for text, want := range map[string]string{
		"make test":      "cd /p && obstat try -- 'make test'",
		"make 'a b'":     `cd /p && obstat try -- 'make '\''a b'\'''`,
		"newtool --fix":  "cd /p && obstat try -- 'newtool --fix'",
		"rm -rf src":     "",
		"git push":       "",
		"make a\nmake b": "",
	} {
		c := &obstat.Call{Tool: "Bash", Input: input(text), Dir: "/p"}
		if got := ToTry(c, Analyze(c, &obstat.Snapshot{Dirs: []string{"/p"}})); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func input(command string) json.RawMessage {
	b, _ := json.Marshal(map[string]string{"command": command}) // a text
	return b
}
