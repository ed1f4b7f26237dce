package agent

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// document draws a settings file in some style, or none.
func document(t *rapid.T, a *Agent) []byte {
	if rapid.IntRange(0, 9).Draw(t, "none") == 0 {
		return nil
	}
	nl := rapid.SampledFrom([]string{"\n", "\r\n", "", " "}).Draw(t, "line end")
	step := rapid.SampledFrom([]string{"  ", "\t", "    "}).Draw(t, "step")
	comment := ""
	if a.Name == Gemini && strings.Contains(nl, "\n") {
		comment = rapid.SampledFrom([]string{"", " // mine", " /* x */"}).Draw(t, "comment")
	}
	var write func(depth int, kind string) string
	write = func(depth int, kind string) string {
		var items []string
		switch kind {
		case "scalar":
			return rapid.SampledFrom([]string{"1", "true", "null", `"x\u00e9"`, `"é"`, "[ ]", "{}", "1.50"}).Draw(t, "scalar")
		case "entry":
			return rapid.SampledFrom([]string{`{"command":"other"}`, `{ "hooks": [ {"command": "x y", "type": "command"} ] }`, `{"matcher": "Bash", "hooks": []}`}).Draw(t, "entry")
		case "list":
			for range rapid.IntRange(0, 2).Draw(t, "entries") {
				items = append(items, write(depth+1, "entry"))
			}
		case "hooks":
			for _, event := range append([]string{"Other"}, a.events...) {
				if rapid.Bool().Draw(t, event) {
					items = append(items, fmt.Sprintf("%q: %s", event, write(depth+1, "list")))
				}
			}
		case "document":
			for _, key := range []string{"a", "hooks", "z"} {
				if rapid.Bool().Draw(t, key) {
					items = append(items, fmt.Sprintf("%q: %s", key, write(depth+1, map[string]string{"hooks": "hooks"}[key]+"")))
				}
			}
		default:
			return write(depth, "scalar")
		}
		brackets := "{}"
		if kind == "list" {
			brackets = "[]"
		}
		if len(items) == 0 {
			return brackets
		}
		indent := nl
		if strings.Contains(nl, "\n") {
			indent += strings.Repeat(step, depth+1)
		}
		last := nl
		if strings.Contains(nl, "\n") {
			last += strings.Repeat(step, depth)
		}
		return brackets[:1] + comment + indent + strings.Join(items, ","+indent) + last + brackets[1:]
	}
	text := write(0, "document")
	text += rapid.SampledFrom([]string{"", "\n", "\n\n"}).Draw(t, "end")
	return []byte(text)
}

// TestInstallUninstall draws settings files: taking the hook out again gives back
// the same bytes, also after an installation over another.
func TestInstallUninstall(t *testing.T) {
	for _, a := range All().Installable() {
		if a.own != nil {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			r := &Request{Scope: User, Where: &Where{Home: "/home/me"}, Program: "/opt/obstat"}
			before := document(t, a)
			install, uninstall := a.Install(r), a.Uninstall(r)
			config := []byte(rapid.SampledFrom([]string{"", "model = 'x'", "a = 1\n", "b = 2\r\n", "[x]\n\n"}).Draw(t, "config"))
			files := [][]byte{before, config}
			after := make([][]byte, len(install))
			undo := make([]*Undo, len(install))
			for i := range install {
				var err error
				if after[i], err = install[i].Edit(files[i]); err != nil {
					t.Fatalf("%s\n%v", files[i], err)
				}
				again, err := install[i].Edit(after[i])
				if err != nil || !bytes.Equal(again, after[i]) {
					t.Fatalf("installing twice: %v\n%s\n%s", err, after[i], again)
				}
				undo[i] = NewUndo(install[i].Name, files[i], after[i])
			}
			for i := range uninstall {
				back, err := uninstall[i].Revert(undo[i], after[i])
				if err != nil || !bytes.Equal(back, files[i]) || (back == nil) != (files[i] == nil) {
					t.Fatalf("%v\n%q\nwas\n%q\nwith the hook\n%q", err, back, files[i], after[i])
				}
				plain, err := uninstall[i].Revert(nil, after[i])
				if err != nil || bytes.Contains(plain, []byte("obstat")) || !uninstall[i].Same(plain, files[i]) {
					t.Fatalf("without a record: %v\n%q\nwas\n%q", err, plain, files[i])
				}
			}
		})
	}
}

// TestUndoIsNotBelieved: a record cannot make uninstall write something else.
func TestUndoIsNotBelieved(t *testing.T) {
	r := &Request{Scope: User, Where: &Where{Home: "/home/me"}, Program: "/opt/obstat"}
	old := []byte(`{"a": 1}`)
	after, err := claudeCode().Install(r)[0].Edit(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, lie := range []string{`{"a": 2}`, `{"a": 1, "disableAllHooks": true}`, `x`, string(after)} {
		got, err := claudeCode().Uninstall(r)[0].Revert(NewUndo("f", []byte(lie), after), after)
		if err != nil || !bytes.Equal(got, old) {
			t.Errorf("%s: %s, %v", lie, got, err)
		}
	}
	if _, ok := (&Undo{After: digest([]byte("x")), Head: -1, Tail: 5}).Before([]byte("x")); ok {
		t.Error("a broken record is used")
	}
}
