package cli

import (
	"context"
	_ "embed"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/dialect/all"
	"github.com/obstat/obstat/dialect/native"
)

//go:embed help.txt
var help string

// helpOf returns the section of help.txt for a command, such as "log verify": the arguments
// in its heading, its first line, its flags, the paragraphs, and examples, which are indented.
func helpOf(path string) (arguments, short, flags, long, example string) {
	text, first := strings.CutPrefix(help, "# "+path)
	if !first {
		_, text, _ = strings.Cut(help, "\n# "+path)
	}
	text, _, _ = strings.Cut(text, "\n\n# ")
	arguments, text, _ = strings.Cut(text, "\n")
	text, long, _ = strings.Cut(strings.TrimSuffix(text, "\n"), "\n\n")
	short, flags, _ = strings.Cut(text, "\n")
	long, example, shown := strings.Cut(long, "\n\n  ")
	if shown {
		example = "  " + example
	}
	return arguments, short, flags, long, example
}

// A run does the work of a command.
type run func(ctx context.Context, args []string) error

// command makes the command of a path such as "log verify". Its words, and which flags it has,
// stand in help.txt; opts is its options struct, whose fields have the flags' values.
func command(path string, args cobra.PositionalArgs, opts any, do run) *cobra.Command {
	arguments, short, flags, long, example := helpOf(path)
	cmd := &cobra.Command{Use: path[strings.LastIndexByte(path, ' ')+1:] + arguments, Short: short, Long: long,
		Example: example, Args: args}
	if do != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), args) }
	}
	bind(cmd, flags, opts)
	return cmd
}

// A flagField is the field of an options struct that a flag sets.
type flagField struct {
	value  any // pointer to the field
	letter string
	words  []string // that it takes, for a shell to complete
}

// bind makes the flags that a section of help.txt lists: `--since: not before this time`, or
// several without words, which stand in the section of all commands. Each sets the field of opts
// that has its name in the tag, `flag:"yes y" words:"on off"`, and has its value as the default.
func bind(cmd *cobra.Command, flags string, opts any) {
	if flags == "" {
		return
	}
	fields := map[string]flagField{}
	flagFields(reflect.ValueOf(opts).Elem(), fields)
	_, _, shared, _, _ := helpOf("*")
	for line := range strings.Lines(flags) {
		names, usage, own := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		for _, word := range strings.Fields(names) {
			if !own {
				_, usage, _ = strings.Cut("\n"+shared, "\n"+word+": ")
				usage, _, _ = strings.Cut(usage, "\n")
			}
			name := strings.TrimPrefix(word, "--")
			declare(cmd, name, usage, fields[name])
		}
	}
}

// flagFields collects the fields with tags of a struct and of the structs in it. The outermost
// of one name counts.
func flagFields(v reflect.Value, out map[string]flagField) {
	var inner []reflect.Value
	for i := range v.NumField() {
		f := v.Type().Field(i)
		names := strings.Fields(f.Tag.Get("flag"))
		if f.Type.Kind() == reflect.Struct && len(names) == 0 {
			inner = append(inner, v.Field(i))
			continue
		}
		letter := ""
		if n := len(names) - 1; n > 0 && len(names[n]) == 1 {
			names, letter = names[:n], names[n]
		}
		for _, name := range names {
			if _, taken := out[name]; !taken {
				out[name] = flagField{v.Field(i).Addr().Interface(), letter, strings.Fields(f.Tag.Get("words"))}
			}
		}
	}
	for _, v := range inner {
		flagFields(v, out)
	}
}

// declare makes one flag.
func declare(cmd *cobra.Command, name, usage string, to flagField) {
	fl := cmd.Flags()
	switch p := to.value.(type) {
	case *string:
		fl.StringVarP(p, name, to.letter, *p, usage)
	case *bool:
		fl.BoolVarP(p, name, to.letter, *p, usage)
	case *int:
		fl.IntVarP(p, name, to.letter, *p, usage)
	case *[]string:
		fl.StringArrayVarP(p, name, to.letter, *p, usage)
	case *time.Duration:
		fl.DurationVarP(p, name, to.letter, *p, usage)
	default:
		panic(fmt.Sprintf("help.txt lists --%s for %q, and its options have no field for it", name, cmd.Name()))
	}
	if len(to.words) > 0 {
		// The flag exists: it was made just before.
		_ = cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			words := to.words
			if list := lists[words[0]]; list != nil {
				words = list()
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// lists are words for a tag that are known elsewhere.
var lists = map[string]func() []string{"@agents": agent.Agents, "@dialects": all.Names, "@presets": native.Presets}
