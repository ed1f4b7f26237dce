package pattern

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/obstat/obstat/pattern/internal/re"
)

// eachRow calls f for each JSON line of a file under testdata.
func eachRow[T any](t *testing.T, name string, f func(row T)) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(z)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var row T
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		f(row)
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
}

type reRow struct {
	P     string
	Error string
	Pos   int
	T     [][3]any
}

// TestPythonRE holds the flavours against what CPython 3.11 said of the same
// patterns and texts.
func TestPythonRE(t *testing.T) {
	rows, refused := 0, 0
	eachRow(t, "re.jsonl.gz", func(row reRow) {
		full, err := Compile(Full, row.P)
		if row.Error != "" {
			refused++
			checkRefusal(t, row, err)
			return
		}
		if err != nil {
			if !tooMuch(row.P, err) {
				t.Errorf("%q: %v, python takes it", row.P, err)
			}
			return
		}
		search := MustCompile(Search, row.P)
		for _, c := range row.T {
			text := c[0].(string)
			rows += 2
			for i, p := range []*Pattern{full, search} {
				want := c[i+1].(float64) != 0
				got, err := p.Match(text)
				if got != want || err != nil {
					t.Errorf("%s %q on %q: got %v %v, python says %v", p.Flavour(), row.P, text, got, err, want)
				}
				checkShape(t, p, text, want)
				checkReach(t, p, text, want)
				checkProg(t, p, text, want)
			}
		}
	})
	t.Logf("%d answers, %d refusals", rows, refused)
}

// tooMuch: refusals of ours that are not Python's.
func tooMuch(p string, err error) bool {
	return strings.Contains(err.Error(), "too large") || strings.Contains(p, `\N`)
}

func checkRefusal(t *testing.T, row reRow, err error) {
	t.Helper()
	var s *SyntaxError
	if !errors.As(err, &s) {
		t.Errorf("%q: no error, python says %s at %d", row.P, row.Error, row.Pos)
		return
	}
	if strings.Contains(s.Msg, `(\N)`) || strings.Contains(row.Error, "internal: unsupported") {
		return
	}
	if s.Msg != row.Error {
		t.Errorf("%q: %q, python says %q", row.P, s.Msg, row.Error)
	}
	if at := utf8.RuneCountInString(row.P[:s.Offset]); row.Pos >= 0 && at != row.Pos {
		t.Errorf("%q: %q at %d, python says at %d", row.P, s.Msg, at, row.Pos)
	}
}

// progOf returns the program of p, if it has one.
func progOf(p *Pattern) *re.Prog {
	q, _ := p.matcher().(*re.Prog)
	return q
}

// checkProg runs p's program without the short cuts in front of it.
func checkProg(t *testing.T, p *Pattern, text string, want bool) {
	t.Helper()
	q := progOf(p)
	if q == nil {
		return
	}
	if got, err := q.Match(text); got != want || err != nil {
		t.Errorf("%s %q on %q, program alone: got %v %v", p.Flavour(), p, text, got, err)
	}
}
