package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// put writes a file and the directories around it.
func putFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWorktrees: the other worktrees of a repository are found from each of them, and a `.git`
// that only says so leads nowhere.
func TestWorktrees(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	putFile(t, at("main/sub/x"), "")
	for _, name := range []string{"one", "two"} {
		putFile(t, at(name+"/sub/x"), "")
		putFile(t, at(name+"/.git"), "gitdir: "+at("main/.git/worktrees/"+name)+"\n")
		putFile(t, at("main/.git/worktrees/"+name+"/gitdir"), at(name+"/.git")+"\n")
	}
	putFile(t, at("main/.git/worktrees/relative/gitdir"), "../relative/.git\n")
	putFile(t, at("liar/sub/x"), "")
	putFile(t, at("liar/.git"), "gitdir: "+at("main/.git/worktrees/one")+"\n")
	for from, want := range map[string][]string{
		"main": {"one", "two"}, "one": {"main", "two"}, "one/sub": {"main/sub", "two/sub"}, "two/sub": {"main/sub", "one/sub"}, "liar": nil, "liar/sub": nil,
	} {
		var names []string
		for _, name := range worktrees(at(from)) {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, rel)
		}
		if fmt.Sprint(names) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", from, names, want)
		}
	}
	if got := worktrees("/"); got != nil {
		t.Errorf("of the root: %v", got)
	}
	for name, want := range map[string]string{"main/.git/worktrees/one/gitdir": at("one/.git"), "main": "", "none": ""} {
		if got := line(at(name)); got != want {
			t.Errorf("line of %s: %q", name, got)
		}
	}
	putFile(t, at("long"), strings.Repeat("x", maxLine))
	putFile(t, at("longer"), strings.Repeat("x", maxLine+1))
	if len(line(at("long"))) != maxLine || line(at("longer")) != "" {
		t.Error("a file that is too long is read, or one that is not is not")
	}
	if !sameFile(at("long"), at("main/../long")) || sameFile(at("long"), at("longer")) || sameFile(at("none"), at("long")) || sameFile(at("long"), at("none")) {
		t.Error("files are taken for each other")
	}
}

// TestOwnRulesOfAgents: an agent's own rules are put to the original call, and nothing is known of an
// agent whose files nobody reads.
func TestOwnRulesOfAgents(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	putFile(t, filepath.Join(dir, ".claude/settings.json"), `{"permissions":{"allow":["Bash(ls:*)"],"ask":["Bash(git push:*)"],"deny":["Bash(rm:*)"]}}`)
	for _, tt := range []struct {
		agent, command string
		why            string
		known          bool
	}{
		{"claude-code", "rm x", "rm", true}, {"claude-code", "git push", "git push", true}, {"claude-code", "ls", "", true},
		{"claude-code", "make", "", true}, {"nobody's", "rm x", "", false},
	} {
		w := &Where{Agent: tt.agent, Dir: dir, Home: home, Getenv: func(string) string { return "" }}
		call := &obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, tt.command), Dir: dir}
		why, known, err := OwnRules(w, call, nil)
		if err != nil || known != tt.known || (why != "") != (tt.why != "") || !strings.Contains(why, tt.why) {
			t.Errorf("%s %s: %q %t %v", tt.agent, tt.command, why, known, err)
		}
	}
	putFile(t, filepath.Join(dir, ".claude/settings.json"), `{"permissions":{"deny":[`)
	w := &Where{Agent: "claude-code", Dir: dir, Home: home, Getenv: func(string) string { return "" }}
	if why, known, err := OwnRules(w, &obstat.Call{Tool: "Bash", Dir: dir}, nil); err == nil || !known || why != "" {
		t.Errorf("a broken file: %q %t %v", why, known, err)
	}
}

// TestRoles: each role has its name.
func TestRoles(t *testing.T) {
	for role, want := range map[Role]string{Own: "own", Inner: "inner", User: "user"} {
		if role.String() != want {
			t.Errorf("%d: %s", role, role)
		}
	}
}
