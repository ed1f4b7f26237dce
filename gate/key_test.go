package gate

import (
	"testing"

	"github.com/obstat/obstat"
)

// TestKeyOf: answers that are remembered for confined runs are those of the same circumstances.
func TestKeyOf(t *testing.T) {
	keys := map[string]string{keyOf(&obstat.Call{Dir: "/p"}, &judged{}): "none"}
	for at := range obstat.Circumstances() {
		if at.Name == "time" || at.Of == "time" {
			continue // with a time nothing is remembered
		}
		c := &obstat.Call{Dir: "/p"}
		at.Set(c, "x")
		key := keyOf(c, &judged{})
		if was, ok := keys[key]; ok {
			t.Errorf("%s has the key of %s", at.Name, was)
		}
		keys[key] = at.Name
	}
}
