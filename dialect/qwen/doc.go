// Package qwen reads the permissions of Qwen Code's settings.json, which are written like Claude Code's, with Qwen
// Code's own names for tools besides: `run_shell_command(git *)` is `Bash(git *)`.
//
// It owns those names, the lists from before there were permissions, and where the files are. The meaning of a rule
// and the way back are package claudecode's.
package qwen
