package ledger

import (
	"encoding/json"

	"github.com/obstat/obstat"
)

// About returns the gist of a call in a few words: the command, the path or
// the address of its input, or else the whole. Where it was allowed with other
// arguments, those come first.
func (r *Record) About() string {
	about := aboutInput(r.Input)
	if r.Kind == Decision && r.Verdict == obstat.Allow.String() {
		var more Circumstances
		if json.Unmarshal(r.Detail, &more) == nil && len(more.Given) > 0 {
			return aboutInput(more.Given) + ", in place of " + about
		}
	}
	return about
}

func aboutInput(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) == nil {
		for _, key := range []string{"command", "cmd", "file_path", "filePath", "path", "url", "pattern", "query", "script"} {
			var s string
			if json.Unmarshal(in[key], &s) == nil && s != "" {
				return s
			}
		}
	}
	return string(input)
}
