package textedit_test

import (
	"fmt"

	"github.com/obstat/obstat/internal/format/textedit"
)

func ExampleFormat_Append() {
	src := `{
  "permissions": {
    "allow": [
      "Bash(ls)", // harmless
    ],
  },
}
`
	out, err := textedit.JSONC.Append([]byte(src), "Bash(git status)", "permissions", "allow")
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// {
	//   "permissions": {
	//     "allow": [
	//       "Bash(ls)", // harmless
	//       "Bash(git status)",
	//     ],
	//   },
	// }
	// <nil>
}

func ExampleFormat_SetBefore() {
	src := "bash:\n  ls: allow\n  # everything else\n  \"*\": ask\n"
	out, err := textedit.YAML.SetBefore([]byte(src), "*", "deny", "bash", "rm *")
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// bash:
	//   ls: allow
	//   "rm *": deny
	//   # everything else
	//   "*": ask
	// <nil>
}
