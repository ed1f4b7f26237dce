// Package claudecode reads the permissions of Claude Code's settings.json:
// allow, ask and deny rules over merged layers, the modes, the working
// directories; and writes an accepted rule back.
//
// It owns the meaning of rules such as Bash(npm run *), Read(//etc/**) or
// WebFetch(domain:example.com), and which tool of another agent each is about, so that a
// user's rules decide there as well. It does not own the effects of commands, which are package
// effect's, nor the keys of settings.json outside "permissions".
package claudecode
