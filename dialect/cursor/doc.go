// Package cursor reads Cursor's permissions: the allow and deny lists of its command line program,
// `.cursor/cli.json`, and the allowlists of its editor, `.cursor/permissions.json`.
//
// It owns Cursor's notation, `Shell(git)`, and where the files are, by Cursor's documents. The meaning of a rule is
// package claudecode's, into whose notation it is written. Instructions in words, `autoRun`, are for a model to
// judge, and no rules.
package cursor
