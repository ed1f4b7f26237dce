package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestReference: docs/cli.md is what the commands say of themselves.
func TestReference(t *testing.T) {
	const name = "../../docs/cli.md"
	want := reference(newRoot(newFactory(&IO{})))
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the commands say; run go test ./internal/cli -update", name)
	}
}

func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# The command

This page is made from the commands themselves (` + "`go test ./internal/cli -update`" + `).
The forms that ` + "`--json`" + ` prints are in [json.md](json.md), Programs written by hand in
[program.md](program.md).

| exit code | meaning |
|---|---|
| 0 | allow, or done |
| 1 | error: in the arguments, a file, a line of input or a case |
| 2 | deny |
| 3 | ask |

Of several answers the worst counts: an error, then a deny, then an ask.

Colour is for terminals, and not where NO_COLOR is set or TERM is dumb. Control and
hidden characters of calls and files are printed as escapes.
`)
	describe(&b, root)
	return b.String()
}

func describe(b *strings.Builder, cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	if cmd.HasParent() {
		fmt.Fprintf(b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", cmd.CommandPath(), cmd.Short, cmd.UseLine())
		if cmd.Long != "" {
			fmt.Fprintf(b, "\n%s\n", cmd.Long)
		}
	}
	if cmd.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.ReplaceAll(cmd.Example, "  obstat", "obstat"))
	}
	if flags := cmd.NonInheritedFlags().FlagUsagesWrapped(100); strings.TrimSpace(flags) != "" {
		if !cmd.HasParent() {
			b.WriteString("\n## Flags of every command\n")
		}
		fmt.Fprintf(b, "\n```\n%s```\n", flags)
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			describe(b, sub)
		}
	}
}
