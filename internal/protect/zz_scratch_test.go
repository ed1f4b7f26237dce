package protect_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
)

func TestScratch(t *testing.T) {
	file := os.Getenv("SCRATCH")
	if file == "" {
		t.Skip("x")
	}
	data, _ := os.ReadFile(file)
	d := os.Getenv("D")
	if d == "" {
		d = "program"
	}
	p := openPlace(t, d, "off")
	p.write(p.proj+"/list", p.policy+"\n")
	p.write(p.proj+"/files.txt", "a\nb\n")
	for l := range strings.SplitSeq(string(data), "\n") {
		if l == "" || l[0] == '#' {
			continue
		}
		if !strings.Contains(l, " {\"") {
			l = strings.ReplaceAll(l, `\n`, "\n")
		}
		c := p.call(l)
		got, _ := p.guard.Authorize(context.Background(), c)
		note := got.Note
		fmt.Printf("%-6v %s\n", got.Verdict, strings.ReplaceAll(p.fill(l), p.home, "~~"))
		if os.Getenv("V") != "" {
			fmt.Println("       why:", note)
			a := effect.Analyze(&effect.Request{Tool: c.Tool, Input: c.Input, Options: effect.Options{Dir: c.Dir, Roots: c.Roots, FS: obstat.OS{}}})
			for _, c := range a.Commands {
				fmt.Printf("       cmd %q known=%v ro=%v cat=%v dir=%s\n", c.Text, c.Known, c.ReadOnly, c.Catalogued, c.Dir)
				for _, w := range c.Words {
					if !w.Known {
						fmt.Printf("           word %q raw=%q why=%q glob=%v\n", w.Text, w.Raw, w.Why, w.Glob)
					}
				}
			}
			for _, e := range a.Effects {
				fmt.Printf("       eff %v path=%q real=%q raw=%q cmd=%d detail=%q unnamed=%v rec=%v glob=%v cert=%v harmless=%v where=%q\n", e.Kind, e.Path, e.Real, e.Raw, e.Command, e.Detail, e.Unnamed, e.Recursive, e.Glob, e.Certain, e.Harmless, e.Where)
			}
			for _, g := range a.Gaps {
				fmt.Printf("       gap %v %q cmd=%d hides=%v\n", g.Kind, g.Why, g.Command, g.Hides)
			}
		}
	}
}
