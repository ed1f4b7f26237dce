package agentscope

import (
	"github.com/obstat/obstat"
	"github.com/obstat/obstat/pattern"
)

// A view asks one question per call: what match_rule of the tool looks at.
type view struct{ custom map[string]CustomTool }

// Questions returns the subjects that the tool's rules are matched against. An
// empty path is nothing to match.
func (v view) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	q := obstat.Question{Tool: f.Call.Tool}
	field := func(name, as string) bool {
		text, ok := f.Field(name)
		if ok && text != "" {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: as, Text: text})
			return true
		}
		return false
	}
	switch f.Call.Tool {
	case "Bash":
		if cmd, ok := f.Field("command"); ok {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: "command", Text: cmd})
		}
	case "Read", "Write", "Edit":
		field("file_path", "file_path")
	case "Glob":
		field("path", "path")
		field("pattern", "path")
	case "Grep":
		if !field("path", "path") && f.Call.Dir != "" {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: "path", Text: f.Call.Dir})
		}
	default:
		q.Subjects = v.other(f)
	}
	return []obstat.Question{q}, nil
}

// other is a tool whose rules are compared with its parameters as JSON values.
func (v view) other(f *obstat.Facts) []obstat.Subject {
	input := f.Call.Input
	if len(input) == 0 {
		input = []byte("{}")
	}
	return []obstat.Subject{{Field: obstat.WholeInput, Text: string(input)}}
}

var _ = pattern.JSON
