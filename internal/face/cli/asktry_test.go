package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/face/mcp"
)

// TestAskRunsToSee: `t` runs a command that cannot be looked into, in the directory of its call, and shows the changes;
// nothing of them counts, and the question is open as before. A command of which all is known is not run.
func TestAskRunsToSee(t *testing.T) {
	if confine.Probe(t.Context()).Level != confine.LevelFull {
		t.Skip("this machine cannot confine commands at level full")
	}
	home := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("HOME", home)
	dir := filepath.Join(home, "p")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"obstat.yaml": "version: 1\nallow:\n  - read anything\n  - write workspace\n", "a": "old\n",
		"fix.sh": "sed -i s/old/new/ a; read x; echo ran in $PWD, read \"$x\"\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d := openAsker(t, filepath.Join(dir, "obstat.yaml"), filepath.Join(home, "obstat.db"))
	g, typed, out, ended := d.gate, d.typed, d.out, d.ended
	for _, tt := range []struct{ command, shows string }{
		{"sh fix.sh", "ran in " + dir + ", read \n"},
		{"git push", "it is not run to see"},
	} {
		input, _ := json.Marshal(map[string]string{"command": tt.command})
		decided := make(chan obstat.Decision, 1)
		go func() {
			d, _ := g.Authorize(t.Context(), &obstat.Call{Tool: "Bash", Input: input, Session: "s", Dir: dir, Roots: []string{dir}}, nil)
			decided <- d.Decision
		}()
		out.waitFor(t, "ASK    "+tt.command+"\n")
		if _, err := io.WriteString(typed, "t\n"); err != nil {
			t.Fatal(err)
		}
		out.waitFor(t, tt.shows)
		if tt.command == "sh fix.sh" {
			for _, text := range []string{"[t] run it to see", "allow  a  changed", "- old", "+ new", "obstat: nothing was applied"} {
				out.waitFor(t, text)
			}
		}
		if b, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(b) != "old\n" {
			t.Errorf("a holds %q, %v", b, err)
		}
		if _, err := io.WriteString(typed, "n seen\n"); err != nil {
			t.Fatal(err)
		}
		if d := <-decided; d.Verdict != obstat.Deny || !strings.Contains(d.Reason(), "refused by bob: seen") {
			t.Errorf("%s: %s", tt.command, d.Reason())
		}
	}
	typed.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestServersHere: the paths of a server are files of this machine unless it runs in a container or on another one.
func TestServersHere(t *testing.T) {
	o := &mcpOptions{Factory: newFactory(&IO{})}
	for command, want := range map[string]bool{
		"npx -y @modelcontextprotocol/server-filesystem /p": true, "node server.js": true, "./files-server": true, "uvx mcp-server-git": true,
		"docker run -i --rm -v /p:/p mcp/filesystem /p": false, "podman run -i mcp/files": false, "ssh box mcp-files": false, "kubectl exec -i pod -- mcp-files": false,
	} {
		if got := o.here(&mcp.Process{Command: strings.Fields(command)}); got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
	if o.here(nil) {
		t.Error("a server at an address is here")
	}
}
