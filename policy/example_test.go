package policy_test

import (
	"fmt"
	"os"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/policy"
)

// The policy in force in a directory, asked about two calls.
func ExampleHere() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	inForce, err := policy.Here(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"ls", "rm -rf build"} {
		d := inForce.Decide(&obstat.Call{Tool: "Bash", Input: fmt.Appendf(nil, `{"command":%q}`, command), Dir: dir}, obstat.OS{})
		fmt.Println(command+":", d.Verdict)
	}
	// Output:
	// ls: allow
	// rm -rf build: ask
}
