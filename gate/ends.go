package gate

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/guard/person"
	"github.com/obstat/obstat/internal/keep/statedir"
)

//go:embed ends.txt
var endsText string

// An ender is a line of ends.txt.
type ender struct {
	kind  string // pid, name or pattern
	flags []string
}

var enders = sync.OnceValue(func() map[string]ender {
	out := map[string]ender{}
	for line := range strings.Lines(endsText) {
		if f := strings.Fields(line); len(f) > 1 && f[0] != "#" {
			out[f[0]] = ender{f[1], f[2:]}
		}
	}
	return out
})

// ends tells whose the processes are that a call would end, by looking at those that run now: of
// `pkill -f "uvicorn app"` those whose command lines have that text. "" where it ends none, or that cannot be told.
func (g *Gate) ends(c *obstat.Call, a *effect.Analysis) string {
	if _, here := g.opts.World.(obstat.OS); !here {
		return "" // the call is made elsewhere
	}
	s, found := new(person.Signalled), false
	for i := range a.Commands {
		cmd := &a.Commands[i]
		e, ok := enders()[cmd.Program]
		if !ok {
			continue
		}
		if found = true; len(cmd.Via) > 0 || !e.read(s, cmd, a) {
			return ""
		}
	}
	if !found {
		return ""
	}
	return person.Whose(s, g.background(c))
}

// background returns the processes of this session's confined runs that stay in the background.
func (g *Gate) background(c *obstat.Call) (out []int) {
	state, err := statedir.Dir(g.opts.Getenv)
	if err != nil {
		return nil
	}
	kept, _ := confine.Left(confined.SessionDir(state, confined.SessionOf(c))) // unlisted ones are not its own
	for _, k := range kept {
		out = append(out, k.PID)
	}
	return out
}

// aSignal matches `-9`, `-KILL` and `-SIGUSR1`, and not the flag `-P`.
var aSignal = regexp.MustCompile(`^-([0-9]+|[A-Z][A-Z0-9+]+)$`)

// alike matches the patterns that mean the same to pkill and to package regexp, but for those of unlike: `z+?` may be
// empty for pkill.
var (
	alike  = regexp.MustCompile(`^([A-Za-z0-9 _/:=,@%#~^$|()*+.-]|\\\.)+$`)
	unlike = regexp.MustCompile(`[*+][*+]`)
)

// read adds the processes that a command names; ok is false where they are not all understood.
func (e *ender) read(s *person.Signalled, cmd *effect.Command, a *effect.Analysis) (ok bool) {
	words, full, exact := []string{}, false, false
	args := cmd.Args()
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		if !args[i].Known {
			if text = aJob; e.kind != "pid" || !startedHere(args[i].Raw, a) {
				return false
			}
		}
		name, _, given := strings.Cut(text, "=")
		switch {
		case i == 0 && aSignal.MatchString(text):
		case !strings.HasPrefix(text, "-"):
			words = append(words, text)
		case slices.Contains(e.flags, name+"="):
			if !given {
				i++ // its value follows
			}
		case slices.Contains(e.flags, text):
			full = full || text == "-f" || text == "--full"
			exact = exact || text == "-x" || text == "--exact"
		default:
			return false
		}
	}
	return len(words) > 0 && e.name(s, words, full, exact)
}

// aJob begins the name of a shell's own job: `kill %1`.
const aJob = "%"

// aVariable matches `$!`, `$PID` and `"${PID}"`.
var aVariable = regexp.MustCompile(`^"?\$(!|\{!\}|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"?$`)

// startedHere tells whether a word is the number of a process that the same command line has put into the background:
// `$!`, or `$PID` where nothing but `PID=$!` is said of PID.
func startedHere(raw string, a *effect.Analysis) bool {
	m := aVariable.FindStringSubmatch(raw)
	if m == nil || slices.ContainsFunc(a.Commands, setsAny) {
		return false
	}
	name := m[2] + m[3]
	if name == "" {
		return strings.Contains(a.Source, "&")
	}
	set := false
	for _, at := range regexp.MustCompile(`\b`+name+`\b`).FindAllStringIndex(a.Source, -1) {
		before, after := a.Source[:at[0]], a.Source[at[1]:]
		switch {
		case strings.HasSuffix(before, "$") && !strings.HasSuffix(before, "$$"),
			strings.HasSuffix(before, "${") && strings.HasPrefix(after, "}"):
		case fromJob.MatchString(after):
			set = true
		default:
			return false
		}
	}
	return set
}

// fromJob matches the rest of `PID=$!`.
var fromJob = regexp.MustCompile(`^="?\$(!|\{!\})"?([\s;&|)]|$)`)

// setsAny tells whether a command may set any variable, or run commands that are not seen here.
func setsAny(c effect.Command) bool {
	if c.Program == "printf" {
		return strings.Contains(c.Text, " -v")
	}
	return slices.Contains([]string{"source", ".", "eval", "read", "mapfile", "readarray", "declare", "let"}, c.Program)
}

// name adds processes by the words that name them.
func (e *ender) name(s *person.Signalled, words []string, full, exact bool) bool {
	switch e.kind {
	case "pid":
		for _, w := range words {
			if strings.HasPrefix(w, aJob) { // one that this very command line has started
				continue
			}
			pid, err := strconv.Atoi(w)
			if err != nil || pid <= 1 {
				return false
			}
			s.PIDs = append(s.PIDs, pid)
		}
	case "name":
		for _, w := range words {
			if strings.Contains(w, "/") { // by the program's file
				return false
			}
		}
		s.Names = append(s.Names, words...)
	case "pattern":
		text := words[0]
		if len(words) > 1 || !alike.MatchString(text) || unlike.MatchString(text) {
			return false
		}
		if exact {
			text = "^(" + text + ")$"
		}
		re, err := regexp.Compile("(?s)" + text)
		if err != nil {
			return false
		}
		if full {
			s.Lines = append(s.Lines, re)
		} else {
			s.Patterns = append(s.Patterns, re)
		}
	}
	return true
}
