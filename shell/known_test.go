package shell

import (
	"strings"
	"testing"
)

// TestReadKnown: a mistake in known.txt is told with its line and column.
func TestReadKnown(t *testing.T) {
	if _, err := readKnown(knownText); err != nil {
		t.Fatalf("known.txt:%v", err)
	}
	for text, want := range map[string]string{
		"word":                            `1:1: want a kind and more`,
		"# x\n\nwrod nproc":               `3:1: unknown kind "wrod"`,
		"word nproc\nword a,,b -x":        `2:6: a program without a name`,
		"word a [b":                       `1:8: brackets that do not close`,
		"word a x] {b}":                   ``,
		"word a b||c":                     `1:8: an empty word`,
		"word a {-x|=y}":                  `1:8: an option without a name`,
		"word a {-x} b":                   `1:8: nothing may follow this part`,
		"setup a\tb ... c":                `1:11: nothing may follow this part`,
		"stays a b\ncmdlet Get\ncmd d\nx": `4:1: want a kind and more`,
	} {
		got := ""
		if _, err := readKnown(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestKnownForms holds commands against forms of every kind of part.
func TestKnownForms(t *testing.T) {
	k, err := readKnown(`
word   a b|c [d] e
number n -n# ARG
word   o {-q!|-a|-f=|--out=x!|--path=<*>|--|ARG}
here   r x ...
setup  s,t [-|--path] bash|-`)
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]formKind{
		"a b e": printsWord, "a c d e": printsWord, "a d e": noForm, "a b": noForm, "a b e f": noForm, "x": noForm,
		"n -n5 y": printsNumber, "n -n y": noForm, "n -nx y": noForm, "n -n5 -y": noForm,
		"o": noForm, "o -q": printsWord, "o -aq z": printsWord, "o -qa": printsWord, "o -a -f q": noForm,
		"o -f -z -q": printsWord, "o -qf z": printsWord, "o -qf=z": printsWord, "o -fq": noForm, "o -qz": noForm,
		"o --out x": printsWord, "o --out=x y": printsWord, "o --out=y": noForm, "o --out": noForm,
		"o -q --path=<y>": printsWord, "o -q --path <y>": printsWord, "o -q --path=y": noForm, "o -q --path=<{>": noForm,
		"o -q -- y": printsWord, "o -q --quiet": noForm,
		"r": noForm, "r x": printsHere, "r x -y z": printsHere,
		"s bash": printsSetup, "t -": printsSetup, "t - bash": printsSetup, "t --path": noForm, "t - - -": noForm,
	} {
		if got := k.kind(strings.Fields(command)); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}
