package confine

import (
	"errors"
	"fmt"
	"strings"
)

// A Level says how much of a Profile the kernel holds.
type Level string

const (
	// LevelFull has namespaces, Landlock and seccomp: files, network by name, sockets,
	// processes, privileges.
	LevelFull Level = "full"
	// LevelFiles has Landlock and seccomp without namespaces: files outside the trees, and
	// either no network at all or, where the Profile has hosts, a network that is not held.
	LevelFiles Level = "files"
	// LevelNone is no confinement.
	LevelNone Level = "none"
)

// rankOf orders levels; an empty one counts as full.
func rankOf(l Level) (int, bool) {
	switch l {
	case LevelFull, "":
		return 2, true
	case LevelFiles:
		return 1, true
	case LevelNone:
		return 0, true
	}
	return 0, false
}

// Covers reports whether a machine or run at level l will do for a Profile that wants want.
func (l Level) Covers(want Level) bool {
	have, ok := rankOf(l)
	need, known := rankOf(want)
	return ok && known && l != "" && have >= need
}

// A Report is the answer of Probe: the level of this machine, the reason why it is not more,
// the Landlock ABI (0 for none), and the gaps that even this level leaves.
type Report struct {
	Level    Level  `json:"level"`
	Why      string `json:"why,omitempty"`
	Landlock int    `json:"landlock,omitempty"`
	Overlay  bool   `json:"overlay,omitempty"`
	Gaps     []Gap  `json:"gaps,omitempty"`
}

// String is one line for people: `level full (Landlock ABI 7, overlay)`.
func (r Report) String() string {
	var has []string
	if r.Landlock > 0 {
		has = append(has, fmt.Sprintf("Landlock ABI %d", r.Landlock))
	}
	if r.Overlay {
		has = append(has, "overlay")
	}
	text := "level " + string(r.Level)
	if len(has) > 0 {
		text += " (" + strings.Join(has, ", ") + ")"
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// ErrUnsupported is returned by Run on systems without an implementation.
var ErrUnsupported = errors.New("confine: this system has no confinement that obstat knows")

// A LevelError says that the machine cannot give the level that a Profile wants. The command
// was not started.
type LevelError struct {
	Want, Have Level
	Why        string
}

// Error tells both levels and the reason.
func (e *LevelError) Error() string {
	return fmt.Sprintf("confine: the profile wants level %s and this machine gives %s: %s", e.Want, e.Have, e.Why)
}
