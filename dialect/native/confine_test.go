package native

import (
	"strings"
	"testing"

	"github.com/obstat/obstat/dialect"
)

func TestConfineWord(t *testing.T) {
	for text, want := range map[string]string{
		"confine: code":   "code",
		"confine: always": "always",
		"confine: off":    "off",
		"confine: {run: code, level: files, read: [~/data], write: [/srv/x], ports: [22], ask: during, time: 10m, size: 2G}": "code, level files, read ~/data, write /srv/x, ports 22, ask during, time 10m0s, size 2147483648",
		"confine: maybe":                       `error: commands run confined for code, always or off, not "maybe"`,
		"confine: [code]":                      "error: ",
		"confine: {level: full}":               "error: ",
		"confine: {run: code, level: none}":    `error: "none" is no level`,
		"confine: {run: code, read: [data]}":   "error: a tree of a confined command begins with / or ~/",
		"confine: {run: code, write: [~/../]}": "error: a tree",
		"confine: {run: code, write: [/a*]}":   "error: a tree",
		"confine: {run: code, ports: [99999]}": "error: a port is a number",
		"confine: {run: code, ask: never}":     "error: a confined command can ask",
		"confine: {run: code, time: -1s}":      "error: ",
		"confine: {run: code, size: many}":     "error: ",
		"confine: {run: code, files: [/]}":     "error: unknown key",
	} {
		l, err := dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: File, Data: []byte("version: 1\n" + text + "\n")}}})
		got := ""
		switch {
		case err != nil:
			got = "error: " + err.Error()
		default:
			c, said := ConfineOf(l.Program)
			only := Aside(l.Program)
			if got = c.String(); !said || !only {
				t.Errorf("%s: said %v, only %v", text, said, only)
			}
		}
		if rest, bad := strings.CutPrefix(want, "error: "); bad && (err == nil || !strings.Contains(got, rest)) || !bad && got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestServers: each word's servers are confined, and have the lines that all words give them.
func TestServers(t *testing.T) {
	read := func(servers string) (*dialect.Loaded, error) {
		text := "version: 1\nconfine: {run: code, servers: " + servers + "}\n"
		return dialect.Load(Dialect{}, &dialect.Input{Files: []dialect.File{{Name: File, Data: []byte(text)}}})
	}
	l, err := read("{notes: {read: [~/notes], connect: Api.example.org, env: [A, B]}, bare: {}}")
	if err != nil {
		t.Fatal(err)
	}
	c, said := ConfineOf(l.Program)
	if s := c.Servers["notes"]; !said || len(c.Servers) != 2 || s.Connect[0] != "api.example.org" || len(s.Env) != 2 {
		t.Errorf("%+v", c)
	}
	d := c.Tighten(Confine{Code: true, Servers: map[string]ConfinedServer{"notes": {Env: []string{"B", "C"}}, "more": {}}})
	if s := d.Servers["notes"]; len(d.Servers) != 3 || len(s.Read)+len(s.Connect) != 0 || strings.Join(s.Env, " ") != "B" {
		t.Errorf("%+v", d)
	}
	for _, bad := range []string{"{notes: x}", "{notes: {reads: [~/x]}}", "{notes: {connect: 'https://x/'}}",
		"{notes: {connect: '*.x.org'}}", "{notes: {read: [x]}}"} {
		if _, err := read(bad); err == nil {
			t.Errorf("%s loads", bad)
		}
	}
}
