// Package cli is the obstat command. Every command is an options struct, whose tags name its
// flags, a method that does the work, and a section of help.txt with all its words.
//
// It owns flags, exit codes and the layout of screens. The packages that it calls decide, explain
// and find.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/study/explain"
)

// An ExitCode is the exit code of the process.
type ExitCode int

// The exit codes. Of several answers the worst counts: an error, then a deny,
// then an ask.
const (
	ExitOK    ExitCode = 0 // allowed, or done
	ExitError ExitCode = 1 // something is wrong with the arguments, a file or a case
	ExitDeny  ExitCode = 2
	ExitAsk   ExitCode = 3
)

// exitOf returns the exit code of a verdict.
func exitOf(v obstat.Verdict) ExitCode {
	switch v {
	case obstat.Allow:
		return ExitOK
	case obstat.Ask:
		return ExitAsk
	}
	return ExitDeny
}

// worse returns the exit code that counts of two.
func worse(a, b ExitCode) ExitCode {
	rank := []ExitCode{ExitOK, ExitAsk, ExitDeny, ExitError}
	return rank[max(slices.Index(rank, a), slices.Index(rank, b))]
}

// An exit ends a command with a code other than zero and nothing more to say.
type exit ExitCode

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// done makes an exit code the error of a run function; nil for success.
func done(c ExitCode) error {
	if c == ExitOK {
		return nil
	}
	return exit(c)
}

// A usageError is a mistake in the arguments.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// mistyped is the usage error for a word that is none of the known ones. It names the one
// that is written most like it: `obstat chek` is about check.
func mistyped(msg, word string, known []string) error {
	if near := dialect.Near(word, known...); near != "" {
		msg += "; " + near
	}
	return usageError{msg}
}

// unknownCommand is the usage error for a word that is none of a command's.
func unknownCommand(cmd *cobra.Command, word string) error {
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	return mistyped(fmt.Sprintf("unknown command %q for %q", word, cmd.CommandPath()), word, known)
}

// wrongFlag makes a usage error of a wrong flag.
func wrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err.Error()}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	return mistyped(err.Error(), "--"+unknown.GetSpecifiedName(), known)
}

// A Factory holds the streams, the world and the flags that all commands share.
type Factory struct {
	IO       *IO
	World    obstat.World
	Color    string // --color
	jsonFlag bool   // --json
}

func newFactory(s *IO) *Factory { return &Factory{IO: s, World: obstat.OS{}} }

// Main runs the command with the given arguments and returns its exit code.
func Main(args []string, s *IO) ExitCode {
	f := newFactory(s)
	if len(args) > 0 && args[0] == "hook" {
		return hookMain(f, args[1:])
	}
	root := newRoot(f)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	var word string
	if n, _ := fmt.Sscanf(fmt.Sprint(err), "unknown command %q", &word); n == 1 { // cobra has no type for it
		err = unknownCommand(cmd, word)
	}
	var code exit
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return ExitCode(code)
	}
	f.report(cmd, err)
	return ExitError
}

// report writes an error for people, or as JSON where JSON was asked for.
func (f *Factory) report(cmd *cobra.Command, err error) {
	if f.jsonFlag {
		writeJSON(f.IO.Out, errorsJSON{1, obstat.ErrorsOf(err)})
		return
	}
	var es obstat.Errors
	if errors.As(err, &es) {
		f.problems(f.IO.Err, es, f.IO.ErrTTY)
		return
	}
	text := strings.Split(err.Error(), "\n") // several errors, each on its line
	for i := range text {
		text[i] = visible(text[i])
	}
	said := "obstat: " + strings.Join(text, "\n")
	if f.IO.ErrTTY && len(text) == 1 {
		said = strings.Join(wrap(said, f.IO.width()), "\n")
	}
	fmt.Fprintln(f.IO.Err, said)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(f.IO.Err, "\nUsage: %s\nSee \"%s --help\".\n", cmd.UseLine(), cmd.CommandPath())
	}
}

// commands are those of the root; each adds its own below it.
var commands = []func(*Factory) *cobra.Command{
	newAddDir, newAsk, newChanges, newCheck, newDemo, newDoctor, newEffects, newExplain, newGrants, newHook,
	newInit, newInstall, newJoin, newLog, newMCP, newPermissions, newPolicy, newReplay, newRun, newServe,
	newStats, newStatus, newTest, newToken, newTrust, newTry, newUndo, newUninstall, newVerify, newVersion, newMan, newCanary,
}

func newRoot(f *Factory) *cobra.Command {
	root := command("obstat", nil, nil, nil)
	root.SilenceErrors, root.SilenceUsage, root.DisableSuggestions = true, true, true
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return f.color() }
	root.SetIn(f.IO.In)
	root.SetOut(f.IO.Out)
	root.SetErr(f.IO.Err)
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentFlags().BoolVar(&f.jsonFlag, "json", false, "print JSON; docs/json.md has the shapes")
	root.PersistentFlags().StringVar(&f.Color, "color", "auto", "colour the output: auto, always or never")
	for _, make := range commands {
		root.AddCommand(make(f))
	}
	group(root)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(f.IO.Out, f.IO.helpText(cmd)) })
	return root
}

// takesAgents makes names the arguments that a command takes, and lists them in its text.
func takesAgents(cmd *cobra.Command, names []string) *cobra.Command {
	cmd.ValidArgs = names
	cmd.Long = strings.ReplaceAll(cmd.Long, "{agents}", strings.Join(names, ", "))
	return cmd
}

// untilInterrupt ends the context of a command at ctrl-C, or when it is told to end.
func untilInterrupt(do run) run {
	return func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // systemd and Kubernetes send the other one
		defer stop()
		return do(ctx, args)
	}
}

func (f *Factory) color() error {
	switch f.Color {
	case "always":
		f.IO.Color = true
	case "never":
		f.IO.Color = false
	case "auto", "":
	default:
		return usagef("--color takes auto, always or never, not %q", f.Color)
	}
	return nil
}

// some is the Args of a command that takes positional arguments; its errors are
// usage errors.
func some(minimum, maximum int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < minimum:
			return usagef("too few arguments")
		case maximum == 0 && len(args) > 0 && cmd.HasAvailableSubCommands():
			return unknownCommand(cmd, args[0])
		case maximum >= 0 && len(args) > maximum:
			return usagef("too many arguments: %q", args[maximum:])
		}
		return nil
	}
}

// errorsJSON is printed by --json where a command fails.
type errorsJSON struct {
	V      int           `json:"v"`
	Errors obstat.Errors `json:"errors"`
}

// writeJSON writes v on one line, its text as it is: no reader of ours is a web
// page.
func writeJSON(w io.Writer, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// writePretty writes v indented, for the commands that print one large object.
func writePretty(w io.Writer, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// versionJSON is the output of `obstat version --json`.
type versionJSON struct {
	V        int    `json:"v"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the files were not those of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(f *Factory) *cobra.Command {
	return command("version", some(0, 0), nil, func(context.Context, []string) error {
		v := thisVersion()
		text := v.Version
		if v.Revision != "" {
			text += " (" + v.Revision + ")"
		}
		return f.show(v, func(s *screen) { s.printf("obstat %s %s %s\n", text, v.Go, v.Platform) })
	})
}

// stamped is version, revision and time of the commit as make dist gives them to the linker, which
// works where the go command finds no history to read them from.
var stamped string

func thisVersion() versionJSON {
	v := versionJSON{V: explain.Version, Version: "(devel)", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if f := strings.Fields(stamped); len(f) == 4 && f[0] == "obstat-release" {
		v.Version, v.Revision, v.Time, v.Modified = f[1], f[2], f[3], strings.HasSuffix(f[1], "+dirty")
		return v
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
