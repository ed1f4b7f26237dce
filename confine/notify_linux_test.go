package confine

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestAskDuring lets a person answer while the command stands still.
func TestAskDuring(t *testing.T) {
	p := newPlace(t)
	p.write(p.base+"/other/yes.txt", "SECRET-YES\n")
	p.write(p.base+"/other/no.txt", "SECRET-NO\n")
	var mu sync.Mutex
	var asked []string
	for _, mode := range []Mode{Through, Overlay} {
		asked = nil
		o := mustRun(t, p.sh(p.profile(mode), `cat a.txt /dev/null; cat ../../other/yes.txt; cat `+p.base+`/other/no.txt; cat .env; cat ../.ssh/id_ed25519; cat /no/such; echo x > `+p.base+`/other/yes.txt; exit 5`,
			func(c *Command) {
				c.Ask = func(o Opening) bool {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, strings.TrimPrefix(o.Path, p.base))
					return strings.HasSuffix(o.Path, "yes.txt") || strings.HasSuffix(o.Path, ".env")
				}
			}))
		if !o.has("one") || !o.has("SECRET-YES") || !o.has("SECRET-ENV") || o.has("SECRET-NO") || o.has("SECRET-KEY") || o.Exit != 5 {
			t.Errorf("%s: %+v %s%s", mode, o.Result, o.out, o.errs)
		}
		if want := []string{"/other/yes.txt", "/other/no.txt", "/home/ws/.env", "/home/.ssh/id_ed25519"}; !slices.Equal(asked, want) {
			t.Errorf("%s: asked %v, want %v", mode, asked, want)
		}
		var seems []string
		for _, r := range o.Refused {
			if r.Kind == "open" && !r.Exact {
				seems = append(seems, strings.TrimPrefix(r.Name, p.base))
			}
		}
		if want := []string{"/other/no.txt", "/home/.ssh/id_ed25519"}; !slices.Equal(seems, want) {
			t.Errorf("%s: seems refused %v, want %v", mode, seems, want)
		}
		if p.read(p.base+"/other/yes.txt") != "SECRET-YES\n" {
			t.Error("written")
		}
	}
}
