package dialect

import (
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/yamlx"
)

func TestWithin(t *testing.T) {
	for _, tc := range []struct {
		data      string
		offset    int
		line, col int
	}{
		{`["a(b"]`, 1, 1, 4},
		{`["\\d("]`, 2, 1, 6},
		{`["\"x"]`, 1, 1, 5},
		{`["\u0061("]`, 1, 1, 2}, // cannot be told: the start
		{`["ab"]`, 9, 1, 2},
		{`["ab"]`, 2, 1, 5},
		{"- 'a(b'\n", 1, 1, 5},
		{"-\n  - a(b\n", 1, 2, 6},
		{"- 'it''s('\n", 4, 1, 3},
	} {
		f := &File{Name: "f", Data: []byte(tc.data)}
		n, _ := jsonx.Parse(f.Data, jsonx.Options{})
		if tc.data[0] == '-' {
			n, _ = yamlx.Parse(f.Data, yamlx.Options{})
		}
		for n = n.At(0); n.At(0) != nil; {
			n = n.At(0)
		}
		if p := f.Within(n, tc.offset); p.Line != tc.line || p.Col != tc.col {
			t.Errorf("byte %d of the text in %q is at %s, want %d:%d", tc.offset, tc.data, p, tc.line, tc.col)
		}
	}
}
