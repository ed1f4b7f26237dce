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
			for name, denied := range map[string]bool{
				".env": true, ".e*": true, "**/.env": true, ".en?": true, "*.{env,x}": true, "{.env,x}": true, "src/**/.e*": true, "./.env": true, "*.ts,.env": true,
				"*.{ts,tsx}": false, "src/**/*.go": false, "*.ts": false} {
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

// Path rules hold for the tools of MCP servers, whatever their fields are called, for addresses of files, and for
// what is copied or moved.
func TestServersPaths(t *testing.T) {
	inputs := []string{`{%q:%q}`, `{"options":{%q:%q}}`, `{"args":[{%q:%q}]}`, `{%q:["a.txt",%q]}`}
	for _, name := range pathDialects {
		p := load(t, name, "**/.env")
		for _, tool := range []string{"mcp__fs__read_file", "mcp__fs__copy_file", "mcp__fs__move_file", "mcp__x__run"} {
			for _, field := range []string{"path", "file_path", "filePath", "filepath", "absolute_path", "src", "source", "file", "files", "paths", "uri", "location", "resource", "thing"} {
				for _, at := range []string{".env", "./.env", "src/../.env", dir + "/.env", "file://" + dir + "/.env", "FILE://localhost" + dir + "/.env", "file:" + dir + "/%2eenv", "~/../ann/proj/.env"} {
					for _, in := range inputs {
						call := &obstat.Call{Tool: tool, Input: []byte(fmt.Sprintf(in, field, at)), Dir: dir, Roots: []string{dir}}
						if d := p.Decide(call, world); d.Verdict == obstat.Allow && !(field == "thing" && at[0] == 's') {
							t.Errorf("%s: %s %s: allowed: %s", name, tool, call.Input, d.Reason())
						}
					}
				}
			}
			for _, in := range []string{`{"path":"src/a.go"}`, `{"query":".env"}`, `{"endpoint":"/repos/x/y"}`, `{"url":"https://example.com/.env"}`, `{"title":"a","body":"see .env"}`, `{"n":3}`} {
				if d := p.Decide(&obstat.Call{Tool: tool, Input: []byte(in), Dir: dir, Roots: []string{dir}}, world); d.Verdict != obstat.Allow && name == "program" {
					t.Errorf("%s: %s %s: %s", name, tool, in, d.Reason())
				}
			}
		}
	}
}
