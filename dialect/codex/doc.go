// Package codex is the dialect of Codex: the rules of its execpolicy (`*.rules`,
// Starlark) and the requirements that an administrator sets (`requirements.toml`).
//
// A rule is about the first words of a command; of all rules that match, the strictest
// decides, whichever file it is in. A call that no rule is about hangs on the approval policy,
// which is the mode here.
//
// It owns these formats. It runs no sandbox: where Codex would run a command in its
// sandbox without asking, obstat asks unless it can see that nothing is changed.
package codex
