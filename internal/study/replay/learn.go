package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/ledger"
)

// Unpredicted is a path that a program changed in a confined run, and that was not known before.
type Unpredicted struct {
	Program string `json:"program"`
	Path    string `json:"path"`
	Operand bool   `json:"operand,omitempty"` // the command names it
	Known   bool   `json:"known,omitempty"`   // the knowledge base has the program
}

// UnpredictedOf returns those of the record of a confined run.
func UnpredictedOf(r *ledger.Record) []Unpredicted {
	if !bytes.Contains(r.Detail, []byte(`"unpredicted"`)) {
		return nil
	}
	var detail struct {
		Confined struct {
			Unpredicted []Unpredicted `json:"unpredicted"`
		} `json:"confined"`
	}
	if json.Unmarshal(r.Detail, &detail) != nil {
		return nil // of another program
	}
	return detail.Confined.Unpredicted
}

// A Lesson is a program whose changes were not predicted, and the line of the knowledge base that would.
type Lesson struct {
	Program string `json:"program"`
	N       int    `json:"n"`
	Line    string `json:"line"`
	Known   bool   `json:"known"` // the line changes a block that is there already
}

// Learn makes a line of the knowledge base for each program, of all paths that it changed unpredicted.
func Learn(list []Unpredicted) (out []Lesson) {
	names := map[string][]string{} // files without a name in the command, by program
	operands, known, count := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, u := range list {
		name := filepath.Base(u.Path)
		if u.Operand {
			operands[u.Program] = true
		} else if !slices.Contains(names[u.Program], name) {
			names[u.Program] = append(names[u.Program], name)
		}
		known[u.Program] = u.Known
		count[u.Program]++
	}
	for program, n := range count {
		does, args := "write", "text*"
		if files := names[program]; len(files) > 0 {
			slices.Sort(files)
			does += "(" + strings.Map(plainRune, strings.Join(files[:min(len(files), 3)], " ")) + ")"
		} else if operands[program] {
			does = "read"
		}
		if operands[program] {
			args = "write*"
		}
		line := fmt.Sprintf("%s\n\tdoes %s args %s", filepath.Base(program), does, args)
		out = append(out, Lesson{program, n, line, known[program]})
	}
	slices.SortFunc(out, func(a, b Lesson) int { return strings.Compare(a.Program, b.Program) })
	return out
}

// plainRune keeps a file's name from ending the detail that it stands in.
func plainRune(c rune) rune {
	if c < ' ' || strings.ContainsRune("()#`+", c) {
		return '_'
	}
	return c
}
