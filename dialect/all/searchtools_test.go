package all_test

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/all"
)

// The pattern of file names that an agent's search tool looks at is put to the rules for paths: a
// search among the files `.e*` reads .env.
func TestSearchToolsNames(t *testing.T) {
	d, err := all.Find("claudecode")
	if err != nil {
		t.Fatal(err)
	}
	l, err := dialect.Load(d, &dialect.Input{Files: []dialect.File{{Name: "policy.json", Data: []byte(`{"permissions":{"allow":["Read","Grep","Glob"],"deny":["Read(**/.env)"]}}`)}}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"Grep", "grep", "grep_search", "search_files", "search_file_content", "codebase_search", "SearchText", "ripgrep", "rg"} {
		for _, field := range []string{"glob", "include", "include_pattern", "file_pattern"} {
			for name, denied := range map[string]bool{".env": true, ".e*": true, "**/.env": true, ".en?": true, "*.{env,x}": false, "*.ts": false} {
				d := l.Policy.Decide(&obstat.Call{Tool: tool, Input: []byte(fmt.Sprintf(`{"pattern":"KEY",%q:%q}`, field, name)), Dir: dir}, world)
				if denied && d.Verdict == obstat.Allow {
					t.Errorf("%s %s %s: allowed: %s", tool, field, name, d.Reason())
				}
				if tool == "Grep" && field == "glob" && !denied && d.Verdict != obstat.Allow {
					t.Errorf("%s %s %s: %s", tool, field, name, d.Reason())
				}
			}
		}
	}
}
