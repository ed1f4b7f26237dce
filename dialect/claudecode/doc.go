// Package claudecode reads the permissions of Claude Code's settings.json:
// allow, ask and deny rules over merged layers, the modes, the working
// directories; and writes an accepted rule back.
//
// It owns what a rule such as Bash(npm run *), Read(//etc/**) or
// WebFetch(domain:example.com) means, and which tool of another agent it is
// about, so that a user's rules decide there as well. What a command does is
// package effect's business; keys of settings.json outside "permissions" are
// nobody's here.
package claudecode
