package native_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/native"
)

func loadText(t *testing.T, text string) (*dialect.Loaded, error) {
	t.Helper()
	return dialect.Load(native.Dialect{}, &dialect.Input{Home: "/home/u", Files: []dialect.File{{Name: native.File, Data: []byte(text)}}})
}

// Rules for commands by what flags mean, in every spelling of them; a command of which a word is not known asks.
func TestManner(t *testing.T) {
	l, err := loadText(t, `version: 1
allow:
  - read and write anything
  - run git, tool2, cp
  - run rm where not force and not recursive
  - connect anywhere
deny:
  - run git push where force
ask:
  - run git clean where not dry-run
  - run cp where recursive
`)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{
		"git push":                            obstat.Allow,
		"git push origin main":                obstat.Allow,
		"git push --force":                    obstat.Deny,
		"git push origin main --force":        obstat.Deny,
		"git push -uf origin main":            obstat.Deny,
		"git push --forc":                     obstat.Ask,
		"git push --force-with-lease":         obstat.Deny,
		"git push --mirror":                   obstat.Deny,
		"git push origin +main":               obstat.Deny,
		"git push origin main:x +HEAD:y":      obstat.Deny,
		"git -C sub push -f":                  obstat.Deny,
		"env git push -f":                     obstat.Deny,
		"git push $X":                         obstat.Ask,
		"git push --$X":                       obstat.Ask,
		"git push --no-force-with-lease":      obstat.Allow,
		"git clean -nd":                       obstat.Allow,
		"git clean --dry-run":                 obstat.Allow,
		"git clean -d":                        obstat.Ask,
		"git clean -fd":                       obstat.Ask,
		"git clean $X":                        obstat.Ask,
		"cp a b":                              obstat.Allow,
		"cp -r a b":                           obstat.Ask,
		"cp -a a b":                           obstat.Ask,
		"cp $X b":                             obstat.Ask,
		"rm a":                                obstat.Allow,
		"rm -f a":                             obstat.Ask,
		"rm -r a":                             obstat.Ask,
		"rm $X":                               obstat.Ask,
		"tool2 --force":                       obstat.Allow,
		"git log --format='--force'":          obstat.Allow,
		"git commit -m 'git push --force'":    obstat.Allow,
		"bash -c 'git push --force origin x'": obstat.Deny,
	} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command": ` + strconv.Quote(command) + `}`), Dir: "/home/u/p", Roots: []string{"/home/u/p"}}
		if d := l.Policy.Decide(call, nil); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
		}
	}
}

// A ref that is removed on the other side is a deletion, as `--delete` says it.
func TestRefspecDeletes(t *testing.T) {
	l, err := loadText(t, "version: 1\nallow:\n  - run git push\nask:\n  - delete anything\n")
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]obstat.Verdict{"git push origin main:x": obstat.Allow, "git push origin :": obstat.Allow,
		"git push origin :x": obstat.Ask, "git push origin +:x": obstat.Ask, "git push origin --delete x": obstat.Ask} {
		call := &obstat.Call{Tool: "Bash", Input: []byte(`{"command": ` + strconv.Quote(command) + `}`), Dir: "/home/u/p", Roots: []string{"/home/u/p"}}
		if d := l.Policy.Decide(call, nil); d.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", command, d.Verdict, want, d.Reason())
		}
	}
}

// Where the words cannot stand, the file is refused with the place.
func TestMannerRefused(t *testing.T) {
	for sentence, at := range map[string]int{
		"write src where force":                  21,
		"tool mcp__a__b where force":             26,
		"run git push where forced":              24,
		"run git push where force and not force": 34,
		"run git push where":                     23,
		"run git push where not":                 27,
		"run git push where \"force\"":           31,
		"run git push where input.x is 1":        24,
		"run and read git where force":           5,
	} {
		_, err := loadText(t, "version: 1\ndeny:\n  - "+sentence+"\n")
		errs := obstat.ErrorsOf(err)
		if len(errs) == 0 || errs[0].Pos.Line != 3 {
			t.Errorf("%s: %v", sentence, err)
			continue
		}
		if cols := columns(errs); !slices.Contains(cols, at) {
			t.Errorf("%s: at %v, want %d: %v", sentence, cols, at, err)
		}
	}
}

func columns(errs obstat.Errors) (out []int) {
	for _, e := range errs {
		out = append(out, e.Pos.Col)
	}
	return out
}
