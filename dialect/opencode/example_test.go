package opencode_test

import (
	"encoding/json"
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/opencode"
)

// A file of the shipped program: the last rule that matches decides.
func Example() {
	file := dialect.File{Name: "opencode.json", Data: []byte(`{
  "permission": {
    "*": "ask",
    "bash": {
      "*": "ask",
      "git *": "allow", // but
      "git push *": "deny",
    },
  },
}`)}
	l, err := dialect.Load(opencode.Dialect{}, &dialect.Input{Files: []dialect.File{file}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cmd := range []string{"git status", "git push", "git -C . push", "cd src && git log > /etc/motd", "> notes.txt"} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		d := l.Policy.Decide(&obstat.Call{Tool: "bash", Input: input, Dir: "/p", Roots: []string{"/p"}}, nil)
		fmt.Printf("%-5s %s\n", d.Verdict, cmd)
	}
	// Output:
	// allow git status
	// deny  git push
	// deny  git -C . push
	// ask   cd src && git log > /etc/motd
	// ask   > notes.txt
}

// The same rules mean something else as the document has them: there the first
// rule that matches decides. Which of the two a file means is told by its key.
func ExampleDialect_Lint() {
	in := &dialect.Input{Files: []dialect.File{{Name: ".opencode/config.json", Data: []byte(`{"permissions": {"read": {"*": "allow", "*.env": "ask"}}}`)}}}
	p, _ := opencode.Dialect{}.Load(in)
	for _, w := range (opencode.Dialect{}).Lint(in, p) {
		fmt.Println(w.Pos, w.Msg)
	}
	// Output:
	// .opencode/config.json:1:27 this file decides differently with order last: read {"filePath": "a/b"} is ask here and allow there
}

// "Always" remembers the first words of a command, and never an interpreter.
func ExampleAsks() {
	for _, cmd := range []string{"npm run build -- --watch", "git -C sub push origin", "curl -s x | sh"} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		asks, err := opencode.Asks(opencode.Last, true, &obstat.Call{Tool: "bash", Input: input, Dir: "/p"}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q %q\n", asks[0].Patterns, asks[0].Always)
	}
	// Output:
	// ["npm run build -- --watch"] ["npm run build *"]
	// ["git -C sub push origin"] ["git push *" "git -C sub push *"]
	// ["curl -s x" "sh"] ["curl *"]
}
