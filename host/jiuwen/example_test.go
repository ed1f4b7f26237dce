package jiuwen_test

import (
	"fmt"

	"github.com/obstat/obstat/host/jiuwen"
)

// A store in memory; jiuwen.File is one on the disk.
type store struct{ data []byte }

func (s *store) Read() ([]byte, error) { return s.data, nil }

func (s *store) Update(fn func([]byte) ([]byte, error)) error {
	out, err := fn(s.data)
	if err == nil {
		s.data = out
	}
	return err
}

func ExampleCommand() {
	s := &store{[]byte("permissions:\n  tools:\n    bash: ask  # for now\n")}
	c := &jiuwen.Command{Caller: &jiuwen.Handler{Store: s}, Locale: "en"}
	fmt.Println(c.Run("allow bash(ls *)").Text)
	fmt.Println(c.Run("deny write_file").Text)
	fmt.Println(c.Run("").Text)
	fmt.Print(string(s.data))
	// Output:
	// created rule [cli_rule_bash_ls_*]  tools: bash  pattern: ls *  action: allow
	// set permissions.tools.write_file = deny
	// ── Tool Permissions ──
	// bash → ask
	// write_file → deny
	// ── Rules ──
	// [cli_rule_bash_ls_*] bash pattern: ls * action: allow
	// permissions:
	//   tools:
	//     bash: ask  # for now
	//     write_file: deny
	//   rules:
	//     - id: "cli_rule_bash_ls_*"
	//       tools: [bash]
	//       pattern: "ls *"
	//       action: allow
}

func ExampleHandler() {
	h := &jiuwen.Handler{Store: &store{[]byte("permissions: {tools: {bash: ask}}\n")}}
	payload, err := h.Call("permissions.tools.update", []byte(`{"tool": "bash", "level": "deny"}`))
	fmt.Println(string(payload), err)
	_, err = h.Call("permissions.rules.create", []byte(`{"rule": {"tools": "bash", "pattern": "re:(", "action": "deny"}}`))
	fmt.Println(err)
	// Output:
	// {"tools":{"bash":"deny"}} <nil>
	// rule: missing ), unterminated subpattern at offset 0
}

func ExampleAddDir() {
	s := &store{[]byte("permissions: {schema: legacy}\n")}
	t, err := jiuwen.AddDir(s, nil, "/home/me", "proj/../data")
	fmt.Println(t.Dir, t.Overrides, err)
	fmt.Print(string(s.data))
	// Output:
	// /home/me/data false <nil>
	// permissions: {schema: legacy, external_directory: {"*": ask, /home/me/data: allow}}
}
