// Package confined holds a command to the policy in force: it makes the Profile of a confined run
// by asking the policy about trees, names, programs and hosts, judges the changes of a run by the
// same policy, and keeps the tickets by which an agent's changed command is started.
//
// It owns the data that goes into a Profile besides the policy (toolchains.txt: the trees of compilers and
// package managers; stays.txt: words of servers and watchers; registries.txt: where package
// managers say which hosts they fetch from) and the files of tickets. It reads no rule: which
// path, program or host is refused is the answer of a policy to a question. How a Profile is
// enforced is package confine's business, and whether a call is put here at all is the gate's.
package confined
