package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serversDir is where servers.sh has installed the servers, all of them; `make test` does.
func serversDir(t *testing.T) string {
	dir := os.Getenv("OBSTAT_MCP_SERVERS")
	switch {
	case dir != "" && !exists(filepath.Join(dir, "whole-2")):
		t.Fatalf("the servers in %s are not installed as internal/face/mcp/servers.sh does; run make servers", dir)
	case dir == "" && os.Getenv("CI") != "":
		t.Fatal("OBSTAT_MCP_SERVERS does not say where the servers are; make test installs them")
	case dir == "":
		t.Skip("OBSTAT_MCP_SERVERS does not say where the servers are; make test installs them")
	}
	return dir
}

// TestServers: real servers behind the gateway, in the eras that they speak: a call that is
// allowed does its work, one that is denied does not.
func TestServers(t *testing.T) {
	dir := serversDir(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<p>a page of the test</p>")) }))
	t.Cleanup(page.Close)
	bin := func(name string) string {
		for _, at := range []string{"node_modules/.bin", "venv/bin"} {
			if p := filepath.Join(dir, at, name); exists(p) {
				return p
			}
		}
		t.Fatalf("%s is not installed in %s", name, dir)
		return ""
	}
	type args = map[string]any
	for _, tt := range []struct {
		server string
		flags  func(l *lab) []string
		allow  string
		call   func(l *lab) args
		want   string
		deny   string
		denied func(l *lab) args
		modern bool
	}{
		{"filesystem", func(l *lab) []string { return []string{l.dir} },
			"read_text_file", func(l *lab) args { return args{"path": filepath.Join(l.dir, "notes.txt")} }, "some notes",
			"write_file", func(l *lab) args { return args{"path": filepath.Join(l.dir, "new.txt"), "content": "x"} }, false},
		{"memory", func(l *lab) []string { return nil },
			"create_entities", func(*lab) args {
				return args{"entities": []any{args{"name": "ann", "entityType": "person", "observations": []any{"likes tea"}}}}
			}, "likes tea",
			"delete_entities", func(*lab) args { return args{"entityNames": []any{"ann"}} }, false},
		{"everything", func(*lab) []string { return []string{"stdio"} },
			"echo", func(*lab) args { return args{"message": "hello there"} }, "hello there",
			"get-env", func(*lab) args { return nil }, false},
		{"time", func(*lab) []string { return []string{"--local-timezone", "UTC"} },
			"get_current_time", func(*lab) args { return args{"timezone": "UTC"} }, "UTC",
			"convert_time", func(*lab) args {
				return args{"source_timezone": "UTC", "time": "12:00", "target_timezone": "UTC"}
			}, true},
		{"git", func(l *lab) []string { return []string{"--repository", l.dir} },
			"git_status", func(l *lab) args { return args{"repo_path": l.dir} }, "notes.txt",
			"git_add", func(l *lab) args { return args{"repo_path": l.dir, "files": []any{"notes.txt"}} }, true},
		{"fetch", func(*lab) []string { return []string{"--allow-private-ips", "--ignore-robots-txt"} },
			"fetch", func(*lab) args { return args{"url": page.URL} }, "a page of the test",
			"fetch_all", func(*lab) args { return args{"url": page.URL} }, true},
	} {
		for _, era := range []string{"2025-11-25", "2026-07-28"} {
			if era == "2026-07-28" && !tt.modern {
				continue
			}
			t.Run(tt.server+" "+era, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, []string{"mcp__" + tt.server + "__" + tt.allow}, nil, []string{"mcp__" + tt.server + "__" + tt.deny})
				l.write("project/notes.txt", "some notes")
				if out, err := exec.Command("git", "init", "-q", l.dir).CombinedOutput(); err != nil {
					t.Fatalf("%s %v", out, err)
				}
				l.env = append(l.env, "MEMORY_FILE_PATH="+filepath.Join(l.dir, "memory.jsonl"))
				cmd := l.obstat(append([]string{"mcp", "--name", tt.server, "--", bin("mcp-server-" + tt.server)}, tt.flags(l)...)...)
				cmd.Stderr = nil
				s := l.connect(cmd, era, nil)
				if text, failed := l.call(s, tt.allow, tt.call(l)); failed || !strings.Contains(text, tt.want) {
					t.Errorf("%s: %q %v", tt.allow, text, failed)
				}
				if text, failed := l.call(s, tt.deny, tt.denied(l)); !failed || !strings.Contains(text, "obstat denied "+tt.deny) {
					t.Errorf("%s: %q %v", tt.deny, text, failed)
				}
				if exists(filepath.Join(l.dir, "new.txt")) {
					t.Error("the denied call was made")
				}
				tools, err := s.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tool := range tools.Tools {
					if tool.Name == tt.deny {
						t.Errorf("%s is shown", tool.Name)
					}
				}
			})
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
