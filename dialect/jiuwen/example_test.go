package jiuwen_test

import (
	"fmt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/jiuwen"
)

func Example() {
	l, err := dialect.Load(jiuwen.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "config.yaml", Data: []byte(`
permissions:
  schema: tiered_policy
  tools: {bash: ask}
  rules:
    - {id: status, tools: [bash], pattern: git status *, severity: LOW}
`)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, cmd := range []string{"git status", "git push", "bash -c 'reboot'"} {
		call := &obstat.Call{Tool: "bash", Input: fmt.Appendf(nil, `{"command": %q}`, cmd), Dir: "/work"}
		d, trace := l.Policy.Explain(call, obstat.OS{})
		fmt.Println(d.Verdict, jiuwen.Dialect{}.Matched(&d, trace))
	}
	// Output:
	// allow tiered_policy:rules:rules[status]
	// ask tools.bash
	// deny tiered_policy:builtin:deny:builtin[shell_system_shutdown_or_reboot]
}
