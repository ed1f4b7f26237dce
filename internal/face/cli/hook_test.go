package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestHookArguments(t *testing.T) {
	var errs bytes.Buffer
	for _, args := range [][]string{{"hook", "--nonsense"}, {"hook", "a", "b"}, {"hook", "--deadline", "x"}, {"hook", "--ledger", "maybe"}} {
		if code := Main(args, &IO{In: strings.NewReader("{}"), Out: io.Discard, Err: &errs}); code != ExitDeny {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
