package opencode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat"
)

// TestRedirectsOfLists: of a list the program's parser, tree-sitter-bash 0.25.0, gives the last redirects to the list.
func TestRedirectsOfLists(t *testing.T) {
	for cmd, want := range map[string]string{
		"echo x > f":                 "echo x > f",
		"cd a && echo x > f":         "echo x",
		"true; echo x > f":           "true,echo x > f",
		"a | b > f":                  "a,b",
		"! a > f":                    "a",
		"a && b > f && c":            "a,b,c",
		"a > e && b >> f 2>&1":       "a > e,b",
		"if a; then b && c > f; fi":  "a,b,c",
		"a && x=1 b > f":             "a,x=1 b",
		"a & b > f":                  "a,b > f",
		"a && cat <<E\nx\nE":         "a,cat",
		"a ||\n  b < f":              "a,b",
		"a && b <<< x":               "a,b <<< x",
		"time a > f":                 "time a > f",
		"a | time -p b > f":          "a,time -p b",
		"a && >f b":                  "a,>f b",
		"a && (b > f)":               "a,b > f",
		"echo x > f; a && echo y >g": "echo x > f,a,echo y",
	} {
		input, _ := json.Marshal(map[string]string{"command": cmd})
		asks, err := Asks(Last, false, &obstat.Call{Tool: "bash", Input: input, Dir: "/p", Roots: []string{"/p"}}, &obstat.Snapshot{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(asks, func(a Ask) bool { return a.Permission == "bash" })
		if i < 0 || strings.Join(asks[i].Patterns, ",") != want {
			t.Errorf("%s: %+v, want %s", cmd, asks, want)
		}
	}
}
