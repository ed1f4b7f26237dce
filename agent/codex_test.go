package agent

import (
	"bytes"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tomlx"
	"github.com/obstat/obstat/internal/format/tree"
)

// TestTrustHashRecipe: the hash is that of the sorted, compact JSON, with the
// time-out and async filled in, as sha256sum computes it.
func TestTrustHashRecipe(t *testing.T) {
	src := []byte(`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"obstat hook codex"}]}]}}`)
	f := codex().parse("hooks.json", src, false)
	got, err := trustHash(f.root, &f.Entries[0])
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
		f := codex().parse("/f", []byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"obstat hook codex"}]}]}}`), false)
		want, err := trustHash(f.root, &f.Entries[0])
		if err != nil {
			t.Fatal(err)
		}
		state := func(text []byte) (hash string, off bool) {
			doc, problems := tomlx.ParseDoc(text)
			if problems != nil {
				t.Fatalf("%q: %v", text, problems)
			}
			n := doc.Root.At("hooks", "state", trustKey(f.Name, &f.Entries[0]))
			return n.Get("trusted_hash").Str, isBool(n.Get("enabled"), false)
		}
		if hash, off := state([]byte(text)); hash != "h" || !off {
			t.Errorf("%q: %s, %v", text, hash, off)
		}
		now, err := setTrust([]byte(text), "/f:pre_tool_use:0:0", want)
		if err != nil {
			t.Fatal(err)
		}
		if hash, off := state(now); hash != want || off {
			t.Errorf("%q became %q", text, now)
		}
	}
}

func TestTOMLEntries(t *testing.T) {
	f := codex().parse("config.toml", []byte(`
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
`), false)
	if len(f.Entries) != 2 || f.Entries[0].Ours || !f.Entries[1].Ours || f.Entries[1].group != 1 || f.Entries[1].Timeout.Seconds() != 5 || f.Entries[0].Matcher != "x" || f.Entries[1].kind != "" || len(f.Entries[1].lax) != 1 {
		t.Errorf("%+v", f.Entries)
	}
	if !isBool(f.root.At("features", "hooks"), false) || f.root.Get("nothing") != nil {
		t.Error("settings are not read")
	}
}

// FuzzTOML reads any bytes: positions lie in the text, and a hash that was written
// can be taken out again.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"", "[a", "a = [1, [2, {b = \"c\"}]]", "a = \"\"\"x\n\"\"\"\n[[b]]\n", "a='", "[\"", "a = {", "a=\"\\", "[[x]]\n[x.y]\nz=1", "a = [[[[[[[["} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, problems := tomlx.ParseDoc(src)
		inside(t, src, doc.Root)
		for _, p := range problems {
			if p.Offset < 0 || p.Offset > len(src) {
				t.Fatalf("%+v", p)
			}
		}
		now, err := setTrust(src, "/f:pre_tool_use:0:0", "sha256:1")
		if err != nil {
			return
		}
		if back := dropTrust(now, "/f:pre_tool_use:0:0"); !sameTOML(back, src) && doc.Root.At("hooks", "state", "/f:pre_tool_use:0:0") == nil {
			t.Fatalf("%q became %q and then %q", src, now, back)
		}
	})
}

// inside fails the test where a value stands outside of the text.
func inside(t *testing.T, src []byte, n *tree.Node) {
	if n.Start > n.End || n.End > len(src) {
		t.Fatalf("%+v", n)
	}
	for _, m := range n.Members {
		inside(t, src, m.Value)
	}
	for _, e := range n.Elems {
		inside(t, src, e)
	}
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
