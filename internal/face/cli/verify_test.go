package cli_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/format/minisign"
)

// TestVerifyRelease: obstat verify takes a release as it was signed, agrees with minisign, and refuses it
// with any one bit turned in any file.
func TestVerifyRelease(t *testing.T) {
	key := minisign.SecretKey{ID: [8]byte{9, 8, 7}, Key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))}
	dir, keys := t.TempDir(), t.TempDir()
	files := map[string][]byte{"obstat_1.0.0_linux_amd64.tar.gz": []byte("an archive\n"), "obstat.rb": []byte("class\n")}
	for name, data := range files {
		files["SHA256SUMS"] = fmt.Appendf(files["SHA256SUMS"], "%x  %s\n", sha256.Sum256(data), name)
	}
	files["SHA256SUMS"] = fmt.Appendf(files["SHA256SUMS"], "%x  not-downloaded.deb\n", sha256.Sum256(nil))
	files["SHA256SUMS.minisig"] = key.Sign(files["SHA256SUMS"], "obstat v1.0.0")
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range files {
		write(filepath.Join(dir, name), data)
	}
	public := key.Public()
	pub := filepath.Join(keys, "k.pub")
	write(pub, []byte(public.String()))
	verify := func(args ...string) (string, bool) {
		out, err := exec.Command("obstat", append([]string{"verify"}, args...)...).CombinedOutput()
		return string(out), err == nil
	}
	if out, ok := verify("--key", pub, dir); !ok || !strings.Contains(out, "obstat v1.0.0: 2 files as signed, 0 not") {
		t.Fatalf("a sound release is refused:\n%s", out)
	}
	line := strings.Split(public.String(), "\n")[1]
	if out, ok := verify("--key", line, filepath.Join(dir, "obstat.rb")); !ok || !strings.Contains(out, "1 file as signed") {
		t.Errorf("one file, with the key on the line:\n%s", out)
	}
	minisignAgrees := func() bool { return true }
	if program, err := exec.LookPath("minisign"); err == nil {
		minisignAgrees = func() bool {
			return exec.Command(program, "-V", "-q", "-p", pub, "-m", filepath.Join(dir, "SHA256SUMS")).Run() == nil
		}
	} else {
		t.Log("there is no minisign to agree; make setup installs it")
	}
	if !minisignAgrees() {
		t.Error("minisign refuses the signature")
	}
	tried := 0
	for name, data := range files {
		for i := 0; i < len(data); i += 1 + len(data)/12 {
			bad := []byte(string(data))
			bad[i] ^= 1
			write(filepath.Join(dir, name), bad)
			if out, ok := verify("--key", pub, dir); ok {
				t.Errorf("byte %d of %s is another, and it is taken:\n%s", i, name, out)
			}
			tried++
		}
		write(filepath.Join(dir, name), data)
	}
	if tried < 20 {
		t.Errorf("only %d bytes were tried", tried)
	}
	for _, c := range []struct{ args, want string }{
		{dir, "--key is missing"},
		{"--key " + keys + "/none.pub " + dir, "no key of minisign"},
		{"--key " + pub + " " + keys, "SHA256SUMS"},
		{"--key " + pub + " " + dir + "/nothing", "no such file"},
		{"--key RWQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA " + dir, "it is signed with the key"},
	} {
		if out, ok := verify(strings.Fields(c.args)...); ok || !strings.Contains(out, c.want) {
			t.Errorf("verify %s: wanted %q:\n%s", c.args, c.want, out)
		}
	}
	write(filepath.Join(dir, "extra"), []byte("x"))
	if out, ok := verify("--key", pub, dir); ok || !strings.Contains(out, "extra is no file of this release") {
		t.Errorf("a file that is not of the release:\n%s", out)
	}
}

// TestManual: every command has a page, and mandoc reads each without an error.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("obstat", "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("there is no mandoc to read the pages with")
	}
	if out, err := exec.Command(mandoc, append([]string{"-Tlint", "-Werror"}, pages...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
