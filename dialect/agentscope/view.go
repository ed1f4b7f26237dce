package agentscope

import "github.com/obstat/obstat"

// Questions poses one question per call, with the text that the tool's match_rule
// looks at.
// An empty path is nothing to match.
func (t *toolset) Questions(f *obstat.Facts) ([]obstat.Question, error) {
	if err := f.Fault(); err != nil {
		return nil, err
	}
	q := obstat.Question{Tool: f.Call.Tool}
	field := func(name, as string) bool {
		text, ok := f.String(name)
		if ok && text != "" {
			q.Subjects = append(q.Subjects, obstat.Subject{Field: as, Text: text})
			return true
		}
		return false
	}
	switch f.Call.Tool {
	case "Bash":
		if cmd, ok := f.String("command"); ok {
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
		var err error
		if q.Subjects, err = t.other(f); err != nil {
			return nil, err
		}
	}
	return []obstat.Question{q}, nil
}

// other is a tool whose rules are compared with its parameters as JSON values,
// or that says itself which of its rules match.
func (t *toolset) other(f *obstat.Facts) (out []obstat.Subject, err error) {
	m, ok := t.custom[f.Call.Tool].(RuleMatcher)
	if !ok {
		input := f.Call.Input
		if len(input) == 0 {
			input = []byte("{}")
		}
		return []obstat.Subject{{Field: obstat.WholeInput, Text: string(input)}}, nil
	}
	input, err := f.Object()
	for _, content := range t.Contents[f.Call.Tool] {
		if err == nil && m.MatchRule(content, input) {
			out = append(out, obstat.Subject{Field: ownField, Text: content})
		}
	}
	return out, err
}
