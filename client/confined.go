package client

import (
	"context"
	"os/exec"
)

// Confined returns a command that runs by `obstat run`, held to the policy in force at its directory: secrets are not
// there, hosts are those that rules allow, changes count once the policy has judged them. Set Dir, Stdin, Stdout and
// Stderr as of any other. It ends with [ExitNotStarted], and a line on its standard error, where a rule denies it or it
// cannot be confined.
func Confined(ctx context.Context, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "obstat", append([]string{"run", "--", program}, args...)...)
}

// ExitNotStarted is the exit code of `obstat run` where it has not started the command.
const ExitNotStarted = 125
