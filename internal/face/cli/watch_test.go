package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
)

// TestValidateWatch: what is wrong with a file is told again whenever that changes, and only then.
func TestValidateWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "obstat.yaml")
	write := func(text string) {
		// At once, as editors do: a look in between would find half a file.
		err := os.WriteFile(file+"~", []byte(text), 0o644)
		if err == nil {
			err = os.Rename(file+"~", file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("version: 1\nallow:\n  - raed x\n")
	var out bytes.Buffer
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(t.Context())
	f := &Factory{IO: &IO{Out: &out, Err: &out}, World: obstat.OS{}}
	o := &validateOptions{Factory: f, Watch: true, Tick: tick}
	end := make(chan error)
	go func() { end <- o.run(ctx, []string{file}) }()
	tick <- time.Time{}
	tick <- time.Time{} // nothing has changed
	write("version: 1\nallow:\n  - read x\n")
	tick <- time.Time{}
	tick <- time.Time{}
	stop()
	if err := <-end; err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "not valid") != 1 || strings.Count(got, ": valid") != 1 || strings.Count(got, "changed at") != 1 {
		t.Errorf("%s", got)
	}
}
