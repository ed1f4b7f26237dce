package adkfluent_test

import (
	"fmt"

	"github.com/obstat/obstat/dialect/adkfluent"
)

// Fragments are merged; denials win, and the non-default mode counts.
func ExamplePolicy_Merge() {
	base := adkfluent.AutoAllow("read_file", "grep", "list_dir")
	strict := adkfluent.DenyPatterns(adkfluent.Glob, "*secret*", "*.env")
	policy := base.Merge(strict).WithMode(adkfluent.ModeDefault)
	for _, tool := range []string{"read_file", "read_secret", "write_file"} {
		d := policy.Check(tool, nil)
		fmt.Printf("%s %s %q\n", tool, d.Behavior(), d.Reason()+d.Prompt())
	}
	// Output:
	// read_file allow ""
	// read_secret deny "Tool 'read_secret' matches a deny pattern."
	// write_file ask "Allow tool 'write_file'?"
}

// The document's recipe for approval prompts does not ask: the mode allows bash
// first. Lint says so, and what to change.
func ExamplePolicy_Lint() {
	policy := adkfluent.AcceptEdits("bash").Merge(adkfluent.Deny("rm"))
	fmt.Println(policy.Check("bash", nil).Behavior())
	fmt.Println(policy.Lint())
	// Output:
	// allow
	// warning: bash is on the ask list, but the ask can never happen: step 7 of the chain allows mutating tools in accept_edits mode, before step 9 could ask [no-effect]; say what is mutating without it, and it is asked about: "mutating_tools": ["apply_edit", "create_file", "delete_file", "edit_file", "move_file", "run_command", "shell", "streaming_bash", "write_file"]
	// warning: this denies a tool called rm, not a shell command rm [risky]; rules here are about tools; to stop the command, deny the tools that run commands (bash, shell, run_command, ...) or use a dialect with rules for commands
}
