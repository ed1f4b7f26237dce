package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan writes the manual, for packages. It is hidden: people read what packages install.
func newMan(*Factory) *cobra.Command {
	var cmd *cobra.Command
	cmd = command("man", some(1, 1), nil, func(_ context.Context, args []string) error {
		return writeManual(cmd.Root(), args[0])
	})
	cmd.Hidden = true
	return cmd
}

// writeManual writes the page of a command, `obstat-log-verify.1`, and those of the commands below it.
func writeManual(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manual(cmd)), 0o644); err != nil {
		return err
	}
	for _, sub := range below(cmd) {
		if err := writeManual(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// below returns the commands of a command that have pages.
func below(cmd *cobra.Command) (out []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			out = append(out, sub)
		}
	}
	return out
}

// manual is the page of a command in the language of man.
func manual(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"obstat\" \"obstat's manual\"\n", roff(strings.ToUpper(name)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n", roff(name), roff(cmd.Short), roff(cmd.UseLine()))
	if cmd.Long != "" {
		b.WriteString(".SH DESCRIPTION\n" + strings.ReplaceAll(roff(cmd.Long), "\n\n", "\n.PP\n") + "\n")
	}
	for _, set := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"OPTIONS", cmd.NonInheritedFlags()}, {"OPTIONS OF EVERY COMMAND", cmd.InheritedFlags()}} {
		if set.flags.HasAvailableFlags() {
			b.WriteString(".SH " + set.title + "\n")
			set.flags.VisitAll(func(f *pflag.Flag) { b.WriteString(flagEntry(f)) })
		}
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roff(cmd.Example) + "\n.fi\n")
	}
	also := below(cmd)
	if cmd.HasParent() {
		also = append(also, cmd.Parent())
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, c := range also {
		end := ",\n"
		if i == len(also)-1 {
			end = "\n"
		}
		b.WriteString(".BR " + roff(strings.ReplaceAll(c.CommandPath(), " ", "-")) + " (1)" + end)
	}
	return b.String()
}

func flagEntry(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	head := "--" + f.Name
	if f.Shorthand != "" {
		head = "-" + f.Shorthand + ", " + head
	}
	if kind != "" {
		head += " " + kind
	}
	return ".TP\n.B " + roff(head) + "\n" + roff(usage) + "\n"
}

// roff escapes a text: backslashes, hyphens, which would be printed as dashes, and a dot or a quote that
// begins a line, which would be a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
