package jiuwen

import (
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/pytext"
)

// The names of the checks.
const (
	checkOperators = "jiuwen.operators"
	checkExternal  = "jiuwen.external"
	checkOwner     = "jiuwen.owner"
	checkAvatar    = "jiuwen.avatar"
)

// operators are the characters that chain commands or put one into another.
const operators = ";&|`<>\n"

// operator returns the first operator of a command.
func operator(cmd string) string {
	for i := range len(cmd) {
		switch c := cmd[i]; {
		case c == '\r' && strings.HasPrefix(cmd[i:], "\r\n"):
			return "\r\n"
		case strings.IndexByte(operators, c) >= 0:
			return string(c)
		case c == '$' && i+1 < len(cmd) && (cmd[i+1] == '(' || cmd[i+1] == '{'):
			return cmd[i : i+2]
		}
	}
	return ""
}

// An operatorCheck turns an allowed command that holds operators into an ask
// (section 2.4). The original looks for the characters alone, so that it asks
// about `echo "a;b"`; outside the bare document quoted ones do not count.
type operatorCheck struct{ *params }

// Check looks at the command of a shell tool.
func (c operatorCheck) Check(f *obstat.Facts) obstat.Finding {
	if categories[c.tool(f.Call.Tool)] != shellTools {
		return obstat.Finding{Pass: true}
	}
	args, err := arguments(f)
	if err != nil {
		return obstat.Finding{Note: err.Error()}
	}
	cmd := commandText(args)
	if !c.Bare {
		if first := args.Get("command"); first != nil && !pytext.Truthy(first) && cmd != "" {
			return obstat.Finding{Verdict: obstat.Ask,
				Note: "the input has an empty command and another in cmd: which of them runs is not certain"}
		}
		cmd = unquoted(cmd)
	}
	if found := operator(cmd); found != "" {
		if strings.HasSuffix(found, "\n") {
			found = "newline"
		}
		return obstat.Finding{Verdict: obstat.Ask, Note: "the command holds the operator " + found}
	}
	return obstat.Finding{Pass: true}
}

// unquoted leaves out text that a shell does not look into: all between single quotes, all but
// substitutions between double quotes, and the character behind a backslash. Where quotes do not
// close, or a $ stands before one, nothing is left out.
func unquoted(cmd string) string {
	if strings.Contains(cmd, "$'") || strings.Contains(cmd, `$"`) || strings.Contains(cmd, "#") {
		return cmd
	}
	var b strings.Builder
	double := false
	for i := 0; i < len(cmd); i++ {
		switch c := cmd[i]; {
		case c == '\\' && i+1 < len(cmd) && cmd[i+1] != '\n' && cmd[i+1] != '\r':
			i++
		case c == '\'' && !double:
			end := strings.IndexByte(cmd[i+1:], '\'')
			if end < 0 {
				return cmd
			}
			i += end + 1
		case c == '"':
			double = !double
		case !double || c == '`' || c == '$' || c == '(' || c == '{':
			b.WriteByte(c)
		}
	}
	if double {
		return cmd
	}
	return b.String()
}
