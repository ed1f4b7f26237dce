package effect

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	kbDetail = regexp.MustCompile(`\([^()]*\)`)
	kbFlag   = regexp.MustCompile(`^(-[^=\[:]*)(\[=\]|==|=)?`)
)

// A flag that is listed twice, once with a value and once without, hides an operand: of `bat -p .env`, in a block
// that bat shared with less, .env was the pattern to look for.
func TestFlagListedTwice(t *testing.T) {
	files, err := filepath.Glob("kb/*.kb")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, values := "", map[string]string{}
		for line := range strings.SplitSeq(string(data), "\n") {
			if line == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			if line[0] != '\t' || strings.HasPrefix(strings.TrimSpace(line), "sub ") {
				block, values = line, map[string]string{}
			}
			for _, tok := range strings.Fields(kbDetail.ReplaceAllString(line, "")) {
				m := kbFlag.FindStringSubmatch(tok)
				if line[0] != '\t' || block[0] == '!' || m == nil {
					continue
				}
				for name := range strings.SplitSeq(m[1], ",") {
					if was, ok := values[name]; ok && was != m[2] {
						t.Errorf("%s: %.60s: %s takes a value in one place and none in another", file, block, name)
					}
					values[name] = m[2]
				}
			}
		}
	}
}
