package kit

import "github.com/obstat/obstat"

// The engine looks at a dialect's view for these methods, and does with less what it does with them.

// A PartView is a [obstat.View] that poses the questions about a part of a call by the
// call's own analysis. Of other views the floor asks each part as a call of its own,
// which is analysed anew.
type PartView interface {
	obstat.View
	// Command returns the questions that command i of the analysis would pose as a
	// call of its own; ok is false where they hang on what stands around it.
	Command(f *obstat.Facts, i int) (qs []obstat.Question, ok bool)
	// File returns the questions that a call of tool with a file's absolute path
	// would pose; real is where links lead from there, "" if that is not known. ok is
	// false where that hangs on more of the tool than its name.
	File(f *obstat.Facts, tool, path, real string) (qs []obstat.Question, ok bool)
}

// A SpellingView is a [PartView] whose rules may write a path in several ways, of which the one
// that a rule names counts: opencode's `*/.env` is not about `.env`, but about `./.env`.
type SpellingView interface {
	PartView
	// Spellings is File with a list of questions for each way.
	Spellings(f *obstat.Facts, tool, path, real string) (ways [][]obstat.Question, ok bool)
}

// A PrefixView is a [PartView] that knows the question about a command of which only
// the beginning is certain, such as `rm ` of `rm $x`.
type PrefixView interface {
	PartView
	Begins(f *obstat.Facts, prefix string) obstat.Question
}

// A Scratch is what a view keeps of a call, with memory to use again.
type Scratch interface {
	// Reset forgets the call.
	Reset()
}

// An EffectView is a [obstat.View] that poses a question for each thing that a call does, and tells
// which of them are about something that cannot be looked into: of `make && git push` the one
// about the code that make runs.
type EffectView interface {
	obstat.View
	Unknown(q *obstat.Question) bool
	// Here tells whether a question is about files that are not named, and lie where the command works: of `tsc`.
	Here(q *obstat.Question) bool
	// Partly tells whether a question is about many files, or one that is known only when the call runs, so that a
	// rule may be about some alone: of `black .` about `.env`.
	Partly(q *obstat.Question) bool
}

// An Outliner is a [obstat.View] that knows what questions calls to a tool can pose
// before there is a call. [obstat.Policy.Reach] and the floor ask it where a call, or a
// word of its command, is not known: without it they have to assume that any
// rule may apply.
type Outliner interface {
	obstat.View
	// Outline returns one question for each kind of call to tool. Its subjects
	// are in every such call, and the texts are how they start: a view that
	// matches "run:" + command returns the text "run:".
	Outline(tool string) []obstat.Question
}

// A Placer is a [obstat.View] with subjects that say of everything below a directory what they say of the directory:
// what lies below a directory of the workspace lies in the workspace. With it an allow rule for such a place counts for
// `rm -rf src` as a whole; without it some file below might be one that the rule is not about.
type Placer interface {
	obstat.View
	HoldsBelow(s obstat.Subject) bool
}
