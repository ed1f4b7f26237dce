// Package hookcrash breaks things under a hook: it is killed, its input is cut off
// or enormous, many run at once, the disk is full, the home is read-only, missing or
// another user's, state is garbage.
//
// It owns one rule: a call that the policy denies is never allowed, and a call
// that it allows is allowed whole or denied in the agent's own form. It has no
// code of its own besides the tests; they run the programs that users run.
package hookcrash
