package obstat

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/effect"
)

// TestBranchAt: the branch of the repository that a directory is in, and none where it is in no repository, or its head
// is on no branch.
func TestBranchAt(t *testing.T) {
	top := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("none/x", "")
	put("a/.git/HEAD", "ref: refs/heads/feature/x\n")
	put("a/sub/x", "")
	put("detached/.git/HEAD", "0123456789012345678901234567890123456789\n")
	put("empty/.git/x", "")
	put("tree/.git", "gitdir: "+filepath.Join(top, "a/.git/worktrees/tree")+"\n")
	put("a/.git/worktrees/tree/HEAD", "ref: refs/heads/other\n")
	put("odd/.git", "something else\n")
	put("odd/something else/HEAD", "ref: refs/heads/none\n")
	for dir, want := range map[string]string{"none": "", "a": "feature/x", "a/sub": "feature/x", "a/not/there": "feature/x", "detached": "(detached)", "empty": "", "tree": "other", "odd": ""} {
		if got := branchAt(filepath.Join(top, dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	if got := branchAt(""); got != "" {
		t.Errorf("of no directory: %q", got)
	}
}

// TestFound: what a machine tells of a call: whether it can be taken back, whose processes it ends, where it is made.
func TestFound(t *testing.T) {
	for name, tt := range map[string]struct {
		m    Machine
		want []string
	}{
		"reversible": {Machine{Reversible: func() bool { return true }}, []string{"true"}},
		"ends":       {Machine{Ends: func() string { return "own" }}, []string{"own"}},
	} {
		at := circumstanceNamed(name)
		var c, none Call
		at.Find(&c, tt.m)
		at.Find(&none, Machine{})
		if got := at.Values(&c); !slices.Equal(got, tt.want) || at.Values(&none) != nil {
			t.Errorf("%s: %q, and %q where nothing can be told", name, got, at.Values(&none))
		}
	}
	var no Call
	circumstanceNamed("reversible").Find(&no, Machine{Reversible: func() bool { return false }})
	if no.Circumstances["reversible"] != "false" {
		t.Errorf("%q", no.Circumstances)
	}
	want := runtime.GOOS
	if want == "darwin" {
		want = "macos"
	}
	if got := systemOf(nil, Machine{World: OS{}}); !slices.Equal(got, []string{want}) {
		t.Errorf("here: %q, want %s", got, want)
	}
	if got := systemOf(nil, Machine{World: &Snapshot{}}); got != nil {
		t.Errorf("elsewhere: %q", got)
	}
}

// TestWants: a policy says which fields its conditions look at, and whether one is a circumstance.
func TestWants(t *testing.T) {
	for field, circumstantial := range map[string]bool{"": false, "input.x": false, "call.branch": true} {
		rule := Rule{Tool: Is("Bash"), Verdict: Ask}
		if field != "" {
			rule.If = []Cond{{Field: field, Any: []Text{Is("x")}}}
		}
		p := &Program{Mode: "m", Pipelines: map[Mode]Pipeline{"m": {Stages: []Stage{Match{Name: "r", Rules: "r"}}, Default: Allow}}, Rules: map[string][]Rule{"r": {rule}}}
		pol, err := Compile(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if pol.Circumstantial() != circumstantial || field != "" && !pol.Wants(field) || pol.Wants("call.user") || pol.Mode() != "m" {
			t.Errorf("%q: circumstantial %t, wants it %t, in mode %s", field, pol.Circumstantial(), pol.Wants(field), pol.Mode())
		}
	}
}

// TestCommandField: of a tool with several fields for a command, the one that says something holds it.
func TestCommandField(t *testing.T) {
	tool := effect.Tool{Command: []string{"command", "cmd"}}
	for input, want := range map[string]string{
		`{"command":"ls"}`: "command", `{"cmd":"ls"}`: "cmd", `{"command":"","cmd":"ls"}`: "cmd", `{"command":" ","cmd":"\n"}`: "command", `{"cmd":""}`: "cmd",
		`{"command":null,"cmd":"ls"}`: "cmd", `{"command":["ls"],"cmd":"ls"}`: "command", `{"command":null}`: "command", `{"x":1}`: "", `{"command":"ls","cmd":"rm"}`: "command",
	} {
		f := &Facts{Call: &Call{Tool: "t", Input: []byte(input)}}
		if got := commandField(f, tool); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// TestNoInput: no input is an empty object.
func TestNoInput(t *testing.T) {
	for _, input := range []string{"", "{}"} {
		f := &Facts{Call: &Call{Input: []byte(input)}}
		if out, err := f.Object(); out == nil || len(out) != 0 || err != nil {
			t.Errorf("%q: %v, %v", input, out, err)
		}
	}
	f := &Facts{Call: &Call{Input: []byte(`{"a":{"b":[1]}}`)}}
	if out, err := f.Object(); err != nil || len(out) != 1 {
		t.Errorf("%v, %v", out, err)
	}
}

// TestWhyOfParts: a part is told with how it came to be judged: by itself, or inside the programs that run it.
func TestWhyOfParts(t *testing.T) {
	p := &Program{Mode: "m", Faces: map[string]Face{FaceRead: {Tool: "Read", Field: "file_path"}},
		Pipelines: map[Mode]Pipeline{"m": {Stages: []Stage{Match{Name: "r", Rules: "r"}}, Amend: []Stage{Floor{Name: "floor"}}, Default: Allow}},
		Rules:     map[string][]Rule{"r": {{Tool: Is("Bash"), Field: "command", Pattern: Is("rm x"), Verdict: Deny}}}}
	pol, err := Compile(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"ls && rm x": "every command that would run is judged by itself", "timeout 5 rm x": "rm runs inside timeout", "sudo timeout 5 rm x": "rm runs inside sudo and timeout",
	} {
		d := pol.Decide(&Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: "/p"}, &Snapshot{})
		if d.Verdict != Deny || d.Part != "rm x" || !strings.HasSuffix(d.Note, want) {
			t.Errorf("%s: %s", command, d.Reason())
		}
	}
}
