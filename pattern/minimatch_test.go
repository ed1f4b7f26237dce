package pattern

import "testing"

// TestMinimatch holds the flavour against what minimatch 11 said.
func TestMinimatch(t *testing.T) {
	answers, versions := 0, 0
	eachRow(t, "minimatch.jsonl.gz", func(row [2]any) {
		text := row[0].(string)
		p, err := Compile(Minimatch, text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return
		}
		for _, c := range row[1].([]any) {
			path, answer := c.([]any)[0].(string), int(c.([]any)[1].(float64))
			answers++
			if answer > 1 {
				versions++
			}
			want := answer&1 != 0
			got, err := p.Match(path)
			if got != want || err != nil {
				t.Errorf("%q on %q: got %v %v, minimatch says %v (versions differ: %v)", text, path, got, err, want, answer > 1)
			}
			checkShape(t, p, path, got)
			checkReach(t, p, path, got)
		}
	})
	t.Logf("%d answers, %d of them only of version 11", answers, versions)
}
