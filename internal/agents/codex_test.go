package agents

import (
	"bytes"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/jsonx"
)

// TestTrustHashRecipe: the hash is that of the sorted, compact JSON, with the
// time-out and async filled in, as sha256sum computes it.
func TestTrustHashRecipe(t *testing.T) {
	src := []byte(`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"obstat hook codex"}]}]}}`)
	f := codex().parse(Place{}, "hooks.json", src)
	got, err := trustHash(f.Root, &f.Entries[0])
	if want := "sha256:aae4d6e646a2c2f83eb01645de2db0eea21b26079637b4b838bea28d113f1600"; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestTrust(t *testing.T) {
	key := `/home/me/a "b"\c:pre_tool_use:0:0`
	for _, old := range []string{"", "model = \"x\"", "model = \"x\"\n", "a = 1\r\n", "[hooks.state]\n", "s = '''\n[hooks.state.\"x\"]\n'''\n"} {
		text, err := setTrust([]byte(old), key, "sha256:1")
		if err != nil || !bytes.HasPrefix(text, []byte(old)) {
			t.Fatalf("%q: %q, %v", old, text, err)
		}
		if again, err := setTrust(text, key, "sha256:1"); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q is not idempotent: %q, %v", old, again, err)
		}
		other, err := setTrust(text, key, "sha256:2")
		if err != nil || string(other) != strings.Replace(string(text), "sha256:1", "sha256:2", 1) {
			t.Errorf("%q is not brought up to date: %q, %v", old, other, err)
		}
		if back := dropTrust(text, key); strings.TrimSpace(string(back)) != strings.TrimSpace(old) {
			t.Errorf("%q came back as %q", old, back)
		}
	}
}

func TestTrustForms(t *testing.T) {
	q := jsonx.Quote("/f:pre_tool_use:0:0")
	for _, text := range []string{
		"[hooks.state." + q + "]\ntrusted_hash = 'h'\nenabled = false",
		"[hooks.state]\n" + q + " = { enabled = false, trusted_hash = \"h\" }",
		"hooks.state." + q + ".trusted_hash = \"h\" # yes\nhooks.state." + q + ".enabled=false",
		"[ hooks . state . " + q + " ] # x\r\n  enabled = false\r\n  trusted_hash = \"h\"\r\n",
	} {
		f := codex().parse(Place{}, "/f", []byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"obstat hook codex"}]}]}}`))
		got, err := f.TrustOf(&f.Entries[0], []byte(text))
		if err != nil || got.Have != "h" || !got.Disabled || got.Holds() {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		now, err := setTrust([]byte(text), "/f:pre_tool_use:0:0", got.Want)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ = f.TrustOf(&f.Entries[0], now); !got.Holds() {
			t.Errorf("%q became %q: %+v", text, now, got)
		}
	}
}

func TestTOMLEntries(t *testing.T) {
	f := codex().parse(Place{}, "config.toml", []byte(`
[features]
hooks = false
[[hooks.PreToolUse]]
matcher = "x"
hooks = [ { type = "command", command = "other" } ]
[[hooks.PreToolUse]]
[[hooks.PreToolUse.hooks]]
type = "command"
command = '''/opt/obstat hook codex'''
timeout = 5
async = true
`))
	if len(f.Entries) != 2 || f.Entries[0].Ours || !f.Entries[1].Ours || f.Entries[1].Group != 1 || f.Entries[1].Timeout.Seconds() != 5 || len(f.Entries[1].Lax) != 1 {
		t.Errorf("%+v", f.Entries)
	}
	if f.Setting("features", "hooks") != "false" || f.Setting("nothing") != "" {
		t.Error("settings are not read")
	}
}

// FuzzTOML: whatever stands in the file, reading ends, and a hash that was
// written can be read again.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"", "[a", "a = [1, [2, {b = \"c\"}]]", "a = \"\"\"x\n\"\"\"\n[[b]]\n", "a='", "[\"", "a = {", "a=\"\\", "[[x]]\n[x.y]\nz=1", "a = [[[[[[[["} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, v := range readTOML(src) {
			if v.start > v.end || v.end > len(src) {
				t.Fatalf("%+v", v)
			}
		}
	})
}

// TestTrustInto: the hash goes only into a file that can be read, and that stays
// one.
func TestTrustInto(t *testing.T) {
	const key, hash = "/home/me/.codex/hooks.json:pre_tool_use:0:0", "sha256:1"
	for _, text := range []string{"", "# x", "a = 1979-05-27 07:32:00Z # d\n", "\ufeffa = 'x'\r\n", "a = \"\"\"x\"\"\"\"\"\n", "[a]\nb = [ # one\n 1, {c = 2},\n]\n[[d.'e f']] # x\n",
		"[hooks]\n", "[hooks.state]\n", "hooks.state.\"/x\".trusted_hash = \"y\"\n", "[[hooks.PreToolUse]]\nmatcher = ''\n", "a = '''\n[hooks\n'''\n"} {
		now, err := setTrust([]byte(text), key, hash)
		if err != nil || !strings.HasPrefix(string(now), text) || !strings.Contains(string(now), hash) {
			t.Errorf("%q: %q %v", text, now, err)
		}
	}
	for _, text := range []string{"a = = 1\n", "a\n", "[a\n", "[[a]\n", "a = \"x\n", "a =\n", "a = 1 b = 2\n", "a = [1 2]\n", "a = '''x\n",
		"hooks = {}\n", "hooks = { state = {} }\n", "[hooks]\nstate = { \"/x\" = { trusted_hash = \"y\" } }\n", "hooks = \"x\"\n"} {
		if now, err := setTrust([]byte(text), key, hash); err == nil {
			t.Errorf("%q became %q", text, now)
		}
	}
}
