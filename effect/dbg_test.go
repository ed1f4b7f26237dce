package effect

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	d, _ := os.ReadFile(os.Getenv("DBG"))
	verbose := os.Getenv("V") != ""
	for _, l := range strings.Split(strings.TrimSpace(string(d)), "\n") {
		l = strings.ReplaceAll(l, "␤", "\n")
		an := AnalyzeCommand(l, testOptions())
		fmt.Printf("%v %v | %-60s | %s\n", map[bool]string{true: "RO", false: "--"}[an.ReadOnly], map[bool]string{true: "full", false: "part"}[an.Full], l, an.Why)
		if !verbose {
			continue
		}
		for _, c := range an.Commands {
			fmt.Printf("   C %q via %v alts %v prefix=%q\n", c.Text, c.Via, c.Alts, c.Prefix)
		}
		for _, e := range an.Effects {
			if e.Kind != Run {
				fmt.Printf("   E %v %s raw=%s host=%s %s sens=%s secret=%v harmless=%v\n", e.Kind, e.Path, e.Raw, e.Host, e.Detail, e.Sensitive, e.Secret, e.Harmless)
			}
		}
		for _, g := range an.Gaps {
			fmt.Printf("   G %v %s hides=%v\n", g.Kind, g.Why, g.Hides)
		}
	}
}
