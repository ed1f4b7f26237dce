package shell_test

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/shell"
)

// TestShape: what is known of a word beside what is known only at run time.
func TestShape(t *testing.T) {
	for src, want := range map[string]string{
		"rm a${x}b.c":                        "a_b.c",
		`rm "$x"`:                            "_",
		`rm "$d/x.json"`:                     "_/x.json",
		"rm a$(ls)b`ls`c":                    "a_b_c",
		"y=a${x}b; rm $y.c":                  "a_b.c",
		"rm ${x:-ab}c":                       "_abc",
		"rm ${x:=ab}c; rm $x":                "_abc _ab",
		"rm ${x:+ab}c":                       "_abc",
		"rm ${x:?ab}c":                       "_c",
		"y=abc; rm ${y%c} ${y#a} ${y/b/x}":   "ab bc axc",
		"y=abc; rm ${y:1} ${y:0:2} ${y:9}":   "bc ab _",
		"y=ABC; rm ${y,,} ${y%$x} ${y/B*/x}": "abc _ _",
		"rm x$(echo a b)":                    "xa b",
		"rm $(echo -n a)":                    "a",
		"rm $(echo -e '\\x61\\0142')":        "ab",
		"rm $(printf 'a%s' b)":               "ab",
		"rm $(printf '%s.%s\\n' a b c)":      "a.b\nc.",
		"rm $(printf %b '\\141')":            "a",
		"rm $(printf %d 1)":                  "_",
		"rm $(printf ab | rev)":              "ba",
		"rm $(rev <<< ba)":                   "ab",
		"rm $(base64 -d <<< LmVudg==)":       ".env",
		"rm $(tr a-z n-za-m <<< .rai)":       ".env",
		"rm $(echo 2e656e76 | xxd -r -p)":    ".env",
		"rm $(echo $x | rev)":                "_",
		"rm $(base64 -d <<< LmV)":            "_",
		"rm $(printf)":                       "_",
		"rm $(echo $x)":                      "_",
		"for f in *.c; do rm $f; done":       "*.c",
		"for f in $x.c; do rm $f; done":      "_.c",
		"rm a b*":                            "",
	} {
		s := shell.Parse(src, nil)
		var got []string
		for _, c := range s.Commands {
			for _, w := range c.Words {
				if !w.Known && c.Words[0].Text == "rm" {
					got = append(got, strings.ReplaceAll(w.Shape(), shell.Unknown, "_"))
				}
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %q, want %q", src, g, want)
		}
	}
}

// A shape that grows is no shape any more; it never costs more than the text.
func TestShapeGrows(t *testing.T) {
	src := "y=a$x\n" + strings.Repeat("y=$y$y\n", 40) + strings.Repeat("rm $y\n", 1000)
	total := 0
	for _, c := range shell.Parse(src, nil).Commands {
		for _, w := range c.Words {
			total += len(w.Shape())
		}
	}
	if total > 8<<20 {
		t.Errorf("%d bytes of shapes", total)
	}
}
