package cli

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/study/lint"
)

// TestReference: docs/cli.md is what the commands say of themselves.
func TestReference(t *testing.T) {
	const name = "../../../docs/cli.md"
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
		t.Errorf("%s is not what the commands say; run go test ./internal/face/cli -update", name)
	}
}

func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# The command

This page is made from the commands themselves (` + "`go test ./internal/face/cli -update`" + `).
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

// TestProgramSample: the Program that docs/program.md shows is one.
func TestProgramSample(t *testing.T) {
	page, err := os.ReadFile("../../../docs/program.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```json\n")
	sample, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no sample")
	}
	p, err := obstat.ParseProgram("program.md", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := obstat.Compile(p, nil); err != nil {
		t.Error(err)
	}
	if warnings := lint.Program(p, nil); len(warnings) > 0 {
		t.Error(warnings)
	}
}

// TestFormsAreDocumented: every key that --json prints is in docs/json.md.
func TestFormsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{errorsJSON{}, checkJSON{}, lineErrorJSON{}, explainJSON{}, effectsJSON{}, showJSON{}, validateJSON{}, failureJSON{}, summaryJSON{}, versionJSON{}, doctorJSON{}} {
		for _, key := range keysOf(reflect.TypeOf(v), map[reflect.Type]bool{}) {
			if !strings.Contains(string(page), "`"+key+"`") && !strings.Contains(string(page), `"`+key+`"`) {
				t.Errorf("%T prints %q, of which docs/json.md says nothing", v, key)
			}
		}
	}
}

// keysOf returns the JSON keys of a type and of all it holds.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) (keys []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return keysOf(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] || t == reflect.TypeFor[obstat.Program]() {
		return nil
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			keys = append(keys, name)
		}
		if name != "-" {
			keys = append(keys, keysOf(f.Type, seen)...)
		}
	}
	return keys
}
