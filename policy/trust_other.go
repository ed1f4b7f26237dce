//go:build !linux

package policy

// started knows nothing of other processes here.
func started(string, string) (own, known bool) { return false, false }

// agentAbove knows nothing of other processes here.
func agentAbove() bool { return false }
