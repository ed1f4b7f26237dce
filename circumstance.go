package obstat

import (
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Circumstance is something that a condition may look at besides the tool and its input: the
// branch, the hour, the agent. [Circumstances] is the one table of them; conditions, the native
// language, `policy diff`, the ledger, the server, the gate and the flags of `obstat check` loop over it.
type Circumstance struct {
	Name string // of the condition's field: `call.branch` is the branch
	// Of names the circumstance that this is another look at, as the hour is of the time; "" for
	// one that stands by itself.
	Of      string
	Compare Comparison
	Setter  Setter
	// Key is its key in a ledger record's detail; "" if the record has a field of its own.
	Key  string
	List bool // it may have several values, as roles

	// When is its key below `when` in a native policy, "" if it is none there; Example shows it.
	When, Example string
	Words         []string // all values that there are; nil: any
	Says          string   // `servers say`, before these words
	// Sample is its value in the examples of a native policy where no rule says otherwise.
	Sample string
	Flag   string // help of its flag; "" for no flag

	// Where it is kept: in a text or a list of the call, in its time as a text, or else in its
	// map [Call.Circumstances].
	text func(c *Call) *string
	list func(c *Call) *[]string
	as   func(t time.Time) string
	// known tells whether it is known though it has no value; nil: it is not.
	known func(c *Call) bool
	// find returns the values; nil: a face says them, or they stay unknown.
	find func(c *Call, m Machine) []string
}

// A Comparison is how conditions compare a circumstance.
type Comparison uint8

// The comparisons.
const (
	CompareText  Comparison = iota // with patterns: `branch: release/*`
	CompareTime                    // with an end: `until: 2026-12-31`
	CompareClock                   // with hours: `time: 09:00-17:00`
	CompareDay                     // with weekdays: `days: mon-fri`
	CompareMarks                   // with marks that the session has got: `after: read secrets`
)

// A Setter is the least trusted party whose word counts for a circumstance. The server clears all
// that a caller of less trust has set.
type Setter uint8

// The setters, from the least trusted.
const (
	SetByAgent   Setter = iota // the agent that makes the call
	SetByMachine               // the machine on which it is made: its hook, its MCP proxy
	SetByServer                // the server that knows its users
)

// Machine is the place of a call that [Circumstance.Find] looks at.
type Machine struct {
	World World           // an [OS] means that the call is made on this machine
	Marks func() []string // of the call's session
	// Reversible tells whether everything that the call does could be taken back; nil: nothing is kept.
	Reversible func() bool
	// Ends tells whose the processes are that the call would end; "" where it ends none, or that cannot be told. nil: it
	// cannot.
	Ends func() string
}

// circumstances is the table, in the order of the keys of a native policy.
var circumstances = [...]Circumstance{
	{
		Name: "agent", When: "agent", Example: "agent: codex` or `agent: [codex, claude-code]", Sample: "example",
		Flag: "`name` of the agent",
		text: func(c *Call) *string { return &c.Agent },
	},
	{
		Name: "user", When: "user", Example: "user: ann", Sample: "example",
		Flag: "`name` of the user that the agent works for",
		text: func(c *Call) *string { return &c.User },
	},
	{
		Name: "role", Key: "roles", Setter: SetByServer, List: true, When: "role", Example: "role: lead",
		Flag:  "`role` of the user",
		list:  func(c *Call) *[]string { return &c.Roles },
		known: func(c *Call) bool { return c.User != "" },
	},
	{
		Name: "channel", Key: "channel", When: "channel", Example: "channel: ci", Sample: "example",
		Flag: "`channel` that the call comes through",
		text: func(c *Call) *string { return &c.Channel },
	},
	{
		Name: "mode", Key: "mode", When: "mode", Example: "mode: plan",
		Flag: "`mode` to decide in (default: the policy's)",
		text: func(c *Call) *string { return (*string)(&c.Mode) },
	},
	{
		Name: "branch", Key: "branch", Setter: SetByMachine, When: "branch", Example: "branch: [main, release/*]",
		Sample: "example",
		Flag:   "`name` of the branch that is checked out (default: the one that is)",
		text:   func(c *Call) *string { return &c.Branch },
		find:   branchOf,
	},
	{
		Name: "hint", Key: "hint", Setter: SetByMachine, When: "hint", Example: "hint: read-only",
		Words: []string{"read-only", "additive", "destructive"}, Says: "servers say",
		Flag: "what the tool's MCP server says of it: `read-only`, additive or destructive",
		text: func(c *Call) *string { return &c.Hint },
	},
	{
		Name: "os", Key: "os", Setter: SetByMachine, When: "os", Example: "os: linux", Sample: "example",
		Words: []string{"linux", "macos", "windows", "freebsd", "openbsd", "netbsd"}, Says: "the systems are",
		Flag: "`name` of the operating system: linux, macos, windows (default: this machine's)",
		find: systemOf,
	},
	{
		Name: "reversible", Key: "reversible", Setter: SetByMachine, When: "reversible", Example: "reversible: true",
		Words: []string{"true", "false"}, Says: "it is", Sample: "false",
		Flag: "`true` if everything that the call does could be taken back by obstat undo, else false",
		find: reversibleHere,
	},
	{
		Name: "ends", Key: "ends", Setter: SetByMachine, When: "ends", Example: "ends: [own, none]", Sample: "others",
		Words: []string{"own", "none", "others"}, Says: "processes are",
		Flag: "whose processes the call would end: `own`, none or others (default: found by looking)",
		find: func(_ *Call, m Machine) []string {
			if m.Ends == nil {
				return nil
			}
			return one(m.Ends())
		},
	},
	{
		Name: "time", Key: "time", Setter: SetByMachine, Compare: CompareTime,
		Flag: "`time` of the call: 22:30, 2026-01-31T15:04 (default: now)",
		as:   func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") },
		find: func(*Call, Machine) []string { return one(time.Now().Format(time.RFC3339Nano)) },
	},
	{
		Name: "clock", Of: "time", Setter: SetByMachine, Compare: CompareClock, When: "time", Example: "time: 09:00-17:00",
		as: func(t time.Time) string { return t.Format("15:04") },
	},
	{
		Name: "day", Of: "time", Setter: SetByMachine, Compare: CompareDay, When: "days", Example: "days: mon-fri",
		as: func(t time.Time) string { return strings.ToLower(t.Format("Mon")) },
	},
	{
		Name: "after", Key: "after", Setter: SetByMachine, Compare: CompareMarks, List: true,
		Flag:  "`text` of an after of the policy: as if the session had done that, and nothing else",
		list:  func(c *Call) *[]string { return &c.After },
		known: func(*Call) bool { return true },
		find:  func(_ *Call, m Machine) []string { return m.Marks() },
	},
}

// Circumstances returns the table of circumstances.
func Circumstances() iter.Seq[Circumstance] { return slices.Values(circumstances[:]) }

// CircumstanceOf returns the circumstance that a condition's field names: `call.branch`.
func CircumstanceOf(field string) (c Circumstance, ok bool) {
	name, ok := strings.CutPrefix(field, callField)
	if at := circumstanceNamed(name); ok && at != nil {
		return *at, true
	}
	return c, false
}

func circumstanceNamed(name string) *Circumstance {
	for i := range circumstances {
		if circumstances[i].Name == name {
			return &circumstances[i]
		}
	}
	return nil
}

// circumstanceNames returns the names of all, for a message.
func circumstanceNames() string {
	names := make([]string, len(circumstances))
	for i := range circumstances {
		names[i] = circumstances[i].Name
	}
	return strings.Join(names, ", ")
}

// Field returns the field of conditions on the circumstance: `call.branch`.
func (at *Circumstance) Field() string { return callField + at.Name }

// Values returns the circumstance of a call as it is recorded; nil where it is not known.
func (at *Circumstance) Values(c *Call) []string {
	switch {
	case at.text != nil:
		return one(*at.text(c))
	case at.list != nil:
		return *at.list(c)
	case at.as == nil:
		return one(c.Circumstances[at.Name])
	case c.Time.IsZero():
		return nil
	}
	return one(c.Time.Format(time.RFC3339Nano))
}

// Set gives a call the circumstance; without values it is not known.
func (at *Circumstance) Set(c *Call, values ...string) {
	value := ""
	if len(values) > 0 {
		value = values[0]
	}
	switch {
	case at.text != nil:
		*at.text(c) = value
	case at.list != nil:
		*at.list(c) = values
	case at.as != nil:
		c.Time, _ = time.Parse(time.RFC3339Nano, value)
	case value == "" && c.Circumstances[at.Name] == "":
	default:
		of := maps.Clone(c.Circumstances) // the map may be another call's as well
		if of == nil {
			of = map[string]string{}
		}
		if of[at.Name] = value; value == "" {
			delete(of, at.Name)
		}
		c.Circumstances = of
	}
}

// Compared returns the texts of a call that conditions on the circumstance compare: of a time, the
// hour. known is false where it cannot be told.
func (at *Circumstance) Compared(c *Call) (values []string, known bool) {
	switch {
	case at.as == nil:
		values = at.Values(c)
	case !c.Time.IsZero():
		values = one(at.as(c.Time))
	}
	return values, len(values) > 0 || at.known != nil && at.known(c)
}

// Find finds the circumstance of a call that does not say it, as far as that can be done here.
func (at *Circumstance) Find(c *Call, m Machine) {
	if at.Of != "" {
		at = circumstanceNamed(at.Of)
	}
	if at.find != nil && at.Values(c) == nil {
		at.Set(c, at.find(c, m)...)
	}
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// here tells whether the call is made on this machine, so that its system and its files are the call's.
func (m *Machine) here() bool {
	_, here := m.World.(OS)
	return here
}

// reversibleHere tells whether a call could be taken back as a whole; not where nothing is kept.
func reversibleHere(_ *Call, m Machine) []string {
	if m.Reversible == nil {
		return nil
	}
	return []string{strconv.FormatBool(m.Reversible())}
}

// systemOf returns the operating system that the call is made on, as people call it.
func systemOf(_ *Call, m Machine) []string {
	if !m.here() {
		return nil
	}
	if runtime.GOOS == "darwin" {
		return []string{"macos"}
	}
	return []string{runtime.GOOS}
}

// branchOf returns the branch that is checked out where the call is made.
func branchOf(c *Call, m Machine) []string {
	if !m.here() {
		return nil
	}
	return one(branchAt(c.Anchor()))
}

// branchAt returns the branch that is checked out at a directory, "" where that cannot be told.
func branchAt(dir string) string {
	for ; dir != "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		at := filepath.Join(dir, ".git")
		st, err := os.Stat(at)
		if err != nil {
			continue
		}
		if !st.IsDir() { // a worktree's
			text, err := readShort(at)
			to, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
			if err != nil || !ok {
				return ""
			}
			if at = to; !filepath.IsAbs(at) {
				at = filepath.Join(dir, to)
			}
		}
		head, err := readShort(filepath.Join(at, "HEAD"))
		if err != nil {
			return ""
		}
		if branch, ok := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/"); ok {
			return branch
		}
		return "(detached)"
	}
	return ""
}

// readShort reads the first lines of a file.
func readShort(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, 4096)
	n, err := f.Read(buf)
	return string(buf[:n]), err
}
