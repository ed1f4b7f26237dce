package obstat

import (
	"fmt"
	"strings"
	"testing"
)

func TestToolTable(t *testing.T) {
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprint("tool_", i), strings.Repeat("x", i+1), fmt.Sprintf("mcp__github__%d", i), fmt.Sprintf("mcp__a__%03d__fetch_page", i)) // the last are a crowd
	}
	var indexes []*toolIndex
	for i := range names {
		indexes = append(indexes, &toolIndex{min: uint32(i)})
	}
	table := newToolTable(names, indexes)
	if len(table.crowd) == 0 {
		t.Error("no names are crowded")
	}
	for i, name := range names {
		if idx := table.find(name); idx == nil || idx.min != uint32(i) {
			t.Errorf("%s: %v", name, idx)
		}
		if idx := table.find(name + "?"); idx != nil {
			t.Errorf("%s?: %v", name, idx)
		}
	}
	count := 0
	for range table.all {
		count++
	}
	if count != len(names) || table.find("") != nil || (&toolTable{}).find("x") != nil {
		t.Errorf("%d of %d", count, len(names))
	}
}
