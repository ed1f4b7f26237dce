package ledger

import (
	"encoding/json"
	"iter"

	"github.com/obstat/obstat"
)

// A ChorusRow is a row of the audit table that Chorus documents.
type ChorusRow struct {
	AgentName    string `json:"agent_name"`
	Timestamp    string `json:"timestamp"`
	ActionString string `json:"action_string"`
	Decision     string `json:"decision"` // allow, deny, ask_approved, ask_denied
	UserID       string `json:"user_id"`
	Detail       string `json:"detail"`
}

// ChorusRows is the ledger as Chorus's audit table: a row for each decision.
func ChorusRows(records iter.Seq2[*Record, error]) iter.Seq2[ChorusRow, error] {
	return func(yield func(ChorusRow, error) bool) {
		for r, err := range records {
			switch {
			case err != nil:
				yield(ChorusRow{}, err)
				return
			case r.Kind == Decision && !yield(chorusRow(r), nil):
				return
			}
		}
	}
}

func chorusRow(r *Record) ChorusRow {
	row := ChorusRow{AgentName: r.Agent, Timestamp: r.Time.UTC().Format("2006-01-02T15:04:05"), ActionString: actionString(r), Decision: "deny", UserID: r.User}
	allowed, asked := r.Verdict == "allow", r.Request != "" || r.Verdict == "ask"
	switch {
	case allowed && asked:
		row.Decision = "ask_approved"
	case allowed:
		row.Decision = "allow"
	case asked:
		row.Decision = "ask_denied"
	}
	if !allowed {
		row.Detail = r.Reason
	}
	return row
}

// actionString is the one that the dialect made, if it is known, else the tool
// and what it is to work on.
func actionString(r *Record) string {
	var c struct {
		Subjects []string `json:"subjects"`
	}
	if json.Unmarshal(r.Detail, &c) == nil && len(c.Subjects) > 0 {
		return c.Subjects[0]
	}
	return "tool:" + r.Tool + ":" + aboutInput(r.Input)
}

// About returns what a call is about, in a few words: the command, the path or
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
