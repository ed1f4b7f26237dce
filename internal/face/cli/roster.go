package cli

import (
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// rosterJSON is the file of --roster.
type rosterJSON struct {
	Roster approval.Roster `json:"roster"`
}

// readRoster reads which people may answer which calls.
func readRoster(name string) (approval.Roster, error) {
	data, err := read(name)
	if err != nil {
		return nil, err
	}
	var out rosterJSON
	n, problems := jsonx.Parse(data, jsonx.JSONC())
	if !tree.Fatal(problems) {
		problems = append(problems, n.Decode(data, &out)...)
	}
	f := dialect.File{Name: name, Data: data}
	if err := f.Problems(problems).Fatal(); err != nil {
		return nil, err
	}
	for i, l := range out.Roster {
		if l.Policy && (l.Tool+l.Rule != "" || l.Safety || l.Who.NotCaller) {
			return nil, usagef("%s: roster[%d] is about policies, so tool, rule, safety and not_caller say nothing in it",
				name, i)
		}
	}
	return out.Roster, nil
}
