package minisign

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBlake2b holds the hash to python's, at the lengths around blocks.
func TestBlake2b(t *testing.T) {
	abc := blake2b512([]byte("abc")) // RFC 7693, appendix A
	if got := hex.EncodeToString(abc[:]); got != "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"+
		"7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923" {
		t.Fatal(got)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 to compare longer texts with")
	}
	var want strings.Builder
	for n := range 400 {
		sum := blake2b512(bytes.Repeat([]byte{byte(n)}, n))
		want.WriteString(hex.EncodeToString(sum[:]) + "\n")
	}
	out, err := exec.Command("python3", "-c",
		"import hashlib\nfor n in range(400): print(hashlib.blake2b(bytes([n % 256]) * n).hexdigest())").Output()
	if err != nil || string(out) != want.String() {
		t.Errorf("python3 has other sums: %v", err)
	}
}

// TestMinisign: minisign takes our signatures with our keys, and every changed byte is refused.
func TestMinisign(t *testing.T) {
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("there is no minisign; make setup installs it")
	}
	dir := t.TempDir()
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if out, err := run("-G", "-W", "-p", "k.pub", "-s", "k.key"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	secret, err := ParseSecret(text("k.key"))
	if err != nil {
		t.Fatal(err)
	}
	public, err := ParsePublic(text("k.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if mine := secret.Public(); mine.String() != public.String() || mine.String() != text("k.pub") {
		t.Errorf("the public key is %s, minisign's %s", &mine, text("k.pub"))
	}
	file := []byte(strings.Repeat("0123  file\n", 40))
	sig := secret.Sign(file, "obstat v1.2.3")
	for name, data := range map[string][]byte{"f": file, "f.minisig": sig} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run("-V", "-H", "-p", "k.pub", "-m", "f"); err != nil || !strings.Contains(string(out), "obstat v1.2.3") {
		t.Errorf("minisign does not agree: %v\n%s", err, out)
	}
	if says, err := public.Verify(file, sig); err != nil || says != "obstat v1.2.3" {
		t.Errorf("%q %v", says, err)
	}
	for i := range sig {
		for _, bit := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(sig)
			bad[i] ^= bit
			if _, err := public.Verify(file, bad); err == nil {
				t.Fatalf("byte %d of the signature can be changed by %#x", i, bit)
			}
		}
	}
	for i := range file {
		bad := bytes.Clone(file)
		bad[i] ^= 4
		if _, err := public.Verify(bad, sig); err == nil {
			t.Fatalf("byte %d of the file can be changed", i)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "no key of minisign", "hello": "no key of minisign", "a\nb\nc": "one comment and one line",
		"untrusted comment: x\nRWQ=\n": "no public key", "title\nRWQ=": "one comment and one line",
	} {
		if _, err := ParsePublic(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	locked := base64.StdEncoding.EncodeToString(append([]byte("EdScB2"), make([]byte, 152)...))
	if _, err := ParseSecret(locked); err == nil || !strings.Contains(err.Error(), "locked with a password") {
		t.Errorf("a locked key: %v", err)
	}
}
