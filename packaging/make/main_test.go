package main

import (
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSigner: a release is not built without a key that can sign it, unless somebody says so.
func TestSigner(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	key := func(kind byte, size int) string {
		data := make([]byte, size)
		data[0], data[1], data[2], data[3] = 'E', 'd', kind, kind
		return "untrusted comment: a key\n" + base64.StdEncoding.EncodeToString(data) + "\n"
	}
	sound := filepath.Join(dir, "sound.key")
	if out, err := exec.Command("minisign", "-G", "-W", "-p", sound+".pub", "-s", sound).CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" || !errors.Is(err, exec.ErrNotFound) {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skip("minisign is not installed")
	}
	for _, tt := range []struct {
		version, key string
		unsigned     bool
		signs        bool
		says         string
	}{
		{"v1.2.3", sound, false, true, ""},
		{"v0.0.0-20260101000000-abc", "", false, false, ""},
		{"v1.2.3", "", true, false, ""},
		{"v1.2.3", "", false, false, "is a release and there is no key"},
		{"v1.2.3+dirty", "", false, false, "is a release and there is no key"},
		{"v1.2.3", filepath.Join(dir, "none"), false, false, "cannot be read"},
		{"v1.2.3", file("public.pub", key(0, 42)), false, false, "no secret key of minisign"},
		{"v1.2.3", file("damaged.key", key(0, 158)), false, false, "damaged"},
		{"v1.2.3", file("locked.key", key('B', 158)), false, false, "locked with a password"},
		{"v1.2.3", file("empty.key", ""), true, false, "empty.key"},
	} {
		k, err := signer(tt.version, tt.key, tt.unsigned)
		if (k != nil) != tt.signs || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s with %q: %v, %v", tt.version, filepath.Base(tt.key), k != nil, err)
		}
	}
}
