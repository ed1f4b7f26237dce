package ledger_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// made fills a template, and returns the texts that are secret.
func made(r *rand.Rand, template string) (line string, secrets []string) {
	const upper, lower, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	sets := map[string]string{"w": upper + lower + digits, "h": digits + "abcdef", "u": upper + digits, "l": lower + digits,
		"b": upper + lower + digits + "+/", "d": digits, "p": lower + upper + digits + "!%"}
	line = regexp.MustCompile(`\{([whulbdp])(\d+)\}`).ReplaceAllStringFunc(template, func(m string) string {
		n, _ := strconv.Atoi(m[2 : len(m)-1])
		b := make([]byte, n)
		for i := range b {
			b[i] = sets[m[1:2]][r.IntN(len(sets[m[1:2]]))]
		}
		switch m[1] {
		case 'p':
			b[0], b[1], b[2] = 'q', '7', 'X'
		case 'd':
		default:
			b[n/2], b[n/3], b[0] = '4', '7', "aA"[n%2]
		}
		if m[1] == 'u' {
			b[0] = 'Q'
		}
		if n >= 12 {
			secrets = append(secrets, string(b))
		}
		return string(b)
	})
	return strings.ReplaceAll(line, `\n`, "\n"), secrets
}

// TestPrintedSecrets: of 200 kinds of secrets, each in the lines of an output around it, at least 98 of 100 are masked.
func TestPrintedSecrets(t *testing.T) {
	text, err := os.ReadFile("testdata/printed.txt")
	if err != nil {
		t.Fatal(err)
	}
	m, r := masker(), rand.New(rand.NewPCG(1, 2))
	kinds, runs, missed := 0, 0, 0
	for line := range strings.Lines(string(text)) {
		kind, template, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		kinds++
		for range 10 {
			printed, secrets := made(r, template)
			raw, _ := json.Marshal(map[string]string{"stdout": "On branch main\n" + printed + "\nnothing to commit\n", "stderr": ""})
			out, _ := m.Printed(raw)
			runs++
			for _, s := range secrets {
				if out == nil || strings.Contains(string(out), s) {
					missed++
					t.Logf("%s: not masked: %s", kind, printed)
					break
				}
			}
		}
	}
	t.Logf("%d kinds, %d of %d masked", kinds, runs-missed, runs)
	if kinds < 200 || missed*100 > runs*2 {
		t.Errorf("%d kinds, %d of %d were not masked", kinds, missed, runs)
	}
}

// TestPrintedOrdinary: the module's own sources and documents, printed by `cat`, are left as they are but for one in 200.
func TestPrintedOrdinary(t *testing.T) {
	m, files, touched := masker(), 0, 0
	for _, pattern := range []string{"../*.go", "../*/*.go", "../*/*/*.go", "../internal/*/*/*.go", "../docs/*.md", "../docs/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, "../ledger") || strings.HasSuffix(name, "_test.go") {
				continue // these hold secrets on purpose
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files++
			if _, found := m.Printed(text); len(found) > 0 {
				touched++
				t.Logf("%s: %+v", name, found)
			}
		}
	}
	if files < 500 || touched*200 > files {
		t.Errorf("%d of %d ordinary outputs are touched", touched, files)
	}
}

// TestPrintedShape: an output that is JSON keeps its shape, and one without a secret is not written again.
func TestPrintedShape(t *testing.T) {
	m := masker()
	for in, want := range map[string]string{
		`{"stdout":"ok","n":12345678901234567890}`:                "",
		`"password = self.password"`:                              "",
		`{"stdout":"DB_PASSWORD=hunter-two","n":[1.50,true]}`:     `{"n":[1.50,true],"stdout":"DB_PASSWORD=[masked]"}`,
		`[{"type":"text","text":"ghp_16C7e42F292c6912E7710c83"}]`: `[{"text":"[masked]","type":"text"}]`,
		`{"token":"a8f5f167f44f4964e6c998dee827110c"}`:            `{"token":"[masked]"}`,
		"not json: ghp_16C7e42F292c6912E7710c83\n":                "not json: [masked]\n",
	} {
		out, found := m.Printed([]byte(in))
		if string(out) != want || (len(found) > 0) != (want != "") {
			t.Errorf("%s: %s %v", in, out, found)
		}
	}
}
