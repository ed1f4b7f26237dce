package agentscope_test

import (
	"encoding/json"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/agentscope"
)

// TestFoundDanger: a search that removes sensitive files is asked about although find, rm and xargs are allowed; one that
// removes others is not.
func TestFoundDanger(t *testing.T) {
	rules := ""
	for _, program := range []string{"find", "rm", "xargs"} {
		rules += `,{"tool_name":"Bash","rule_content":"` + program + `:*","behavior":"allow","source":"u"}`
	}
	l, err := dialect.Load(&agentscope.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "context.json", Data: []byte(`{"mode":"default","allow_rules":{"Bash":[` + rules[1:] + `]}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	for want, commands := range map[obstat.Verdict][]string{
		obstat.Ask: {
			"find .git -name '*' -delete", "find . -name .env -delete", "find .git -delete", "find .git/hooks -type f -delete", "find . -delete", "find -delete", "find . -type f -delete", "find . -name '*' -delete",
			"find . -path './.git/*' -delete", "find . -iname '.ENV' -delete", "find . -name '.e*' -delete", "find . -name '.en?' -delete", "find . -name '.[e]nv' -delete", "find . -name .git -delete",
			"find . -regex '.*env' -delete", "find ~ -name .bashrc -delete", "find / -name .netrc -delete", "find / -delete", "find .. -delete", "find src .git -delete", "find . -delete -name '*.o'",
			"find . -name '*.o' -o -name .env -delete", "find . -name .env -exec rm {} +", "find . -name .env -exec rm {} ';'", "find . -name .env | xargs rm", "find .vscode -name '*.json' -delete", "find ~/.ssh -name 'id*' -delete",
			"/usr/bin/find . -name .env -delete", "sh -c 'find . -name .env -delete'", "find $X -delete", "find . -name $X -delete",
		},
		obstat.Allow: {"find . -name '*.o' -delete", "find src -name '*.o' -delete", "find build -type f -delete", "find . -name '*.pyc' -delete", "find . -name a.txt", "find . -name '*.o' -exec rm {} +", "find . -name '*.log' | xargs rm"},
	} {
		for _, command := range commands {
			input, _ := json.Marshal(map[string]string{"command": command})
			call := &obstat.Call{Tool: "Bash", Input: input, Dir: "/home/user/project", Roots: []string{"/home/user/project"}}
			if d := l.Policy.Decide(call, &obstat.Snapshot{HomeDir: "/home/user"}); d.Verdict != want {
				t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
			}
		}
	}
}
