package confine

import (
	"io/fs"
	"time"
)

// A Change is one difference between a workspace and the layer that a command wrote to.
type Change struct {
	Path string      `json:"path"` // absolute, in the workspace
	Kind ChangeKind  `json:"kind"`
	Type string      `json:"type"`           // "file", "dir", "link", "fifo" or "socket"
	Mode fs.FileMode `json:"mode,omitempty"` // afterwards
	Size int64       `json:"size,omitempty"`
	// Target is a link's.
	Target string `json:"target,omitempty"`
	// Moved is the other name of a file that goes on under a new one: the new name of a deletion,
	// the old one of a creation. Both have the same contents.
	Moved string `json:"moved,omitempty"`
	// Layer is where the new contents lie while Command.Judge looks at them; empty for a deletion.
	Layer string `json:"-"`

	// Outcome is set by Run, and Why where it is not Committed.
	Outcome Outcome `json:"outcome,omitempty"`
	Why     string  `json:"why,omitempty"`

	rel    string
	lower  identity // of the workspace's file when the run ended
	origin bool     // the layer's file was copied from the workspace
	times  [2]time.Time
}

// A ChangeKind says how a path was changed.
type ChangeKind string

// The kinds of changes. Touched has only another time.
const (
	Created     ChangeKind = "created"
	Changed     ChangeKind = "changed"
	Deleted     ChangeKind = "deleted"
	ModeChanged ChangeKind = "mode"
	Touched     ChangeKind = "touched"
)

// An Outcome says how a Change ended.
type Outcome string

// The outcomes. Refused ones touch a hidden or read-only name; Conflict means that the
// workspace's own file was changed during the run, which then stays.
const (
	Committed Outcome = "committed"
	Dropped   Outcome = "dropped"
	Refused   Outcome = "refused"
	Conflict  Outcome = "conflict"
)

// A Verdict is the answer of Command.Judge. The zero Verdict drops a change.
type Verdict int

// The verdicts.
const (
	Drop Verdict = iota
	Commit
)

// identity tells whether a file is still the one that was looked at.
type identity struct {
	Exists bool   `json:",omitempty"`
	Inode  uint64 `json:",omitempty"`
	Change int64  `json:",omitempty"` // ctime, nanoseconds
	// Time is the mtime of a file with several names: its ctime changes with each of them.
	Time int64 `json:",omitempty"`
}
