package cli

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/guard/undo"
	"github.com/obstat/obstat/internal/study/replay"
)

// TestGuardFormsAreDocumented: every key that the guard's commands print is in
// docs/json.md.
func TestGuardFormsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{requestsJSON{}, grantsJSON{}, revokedJSON{}, statusJSON{}, trustJSON{}, changesJSON{}, undo.Undone{}, tryJSON{}, replay.Report{}, replay.Stats{}} {
		for _, key := range keysOf(reflect.TypeOf(v), map[reflect.Type]bool{}) {
			if !strings.Contains(string(page), "`"+key+"`") && !strings.Contains(string(page), `"`+key+`"`) {
				t.Errorf("%T prints %q, of which docs/json.md says nothing", v, key)
			}
		}
	}
}
