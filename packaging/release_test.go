package packaging_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/format/minisign"
	"github.com/obstat/obstat/packaging"
)

// release packs programs with a key of this test, once, and returns the files and the key.
func release(t *testing.T) (map[string][]byte, minisign.PublicKey) {
	t.Helper()
	r := packedRelease()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.files, r.key
}

type released struct {
	files map[string][]byte
	key   minisign.PublicKey
	err   error
}

var packedRelease = sync.OnceValue(func() (r released) {
	key := minisign.SecretKey{ID: [8]byte{1, 2, 3}, Key: ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))}
	name, err := os.Executable()
	if err != nil {
		return released{err: err}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return released{err: err}
	}
	p := packaging.Obstat()
	p.Version, p.Time, p.Revision, p.Key = "1.2.3", time.Unix(1767312000, 0), strings.Repeat("a", 40), &key
	p.Docs = map[string][]byte{"README.md": []byte("read me\n"), "LICENSE": []byte("do\n")}
	p.Man = map[string][]byte{"obstat.1": []byte(".TH OBSTAT 1\n")}
	var binaries []packaging.Binary
	for _, target := range packaging.Targets() {
		binaries = append(binaries, packaging.Binary{Target: target, Data: data})
	}
	files, err := p.Pack(binaries)
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Name] = f.Data
	}
	return released{out, key.Public(), err}
})

// TestSigned: the sums are signed, and the provenance names each file with the sum that it has.
func TestSigned(t *testing.T) {
	files, key := release(t)
	says, err := key.Verify(files["SHA256SUMS"], files["SHA256SUMS.minisig"])
	if err != nil || !strings.HasPrefix(says, "obstat v1.2.3 commit:aaaa") {
		t.Errorf("%q %v", says, err)
	}
	var env struct {
		PayloadType, Payload string
		Signatures           []struct{ Sig string }
	}
	if err := json.Unmarshal(files["obstat_1.2.3.intoto.jsonl"], &env); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(env.Payload)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := base64.StdEncoding.DecodeString(env.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(env.PayloadType), env.PayloadType, len(payload), payload)
	if !ed25519.Verify(key.Key, []byte(pae), sig) {
		t.Error("the provenance is not signed")
	}
	var st struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
	}
	if err := json.Unmarshal(payload, &st); err != nil || st.Type != "https://in-toto.io/Statement/v1" {
		t.Fatalf("%v %s", err, payload)
	}
	if len(st.Subject) != len(files)-3 { // not itself, the sums and their signature
		t.Errorf("%d subjects of %d files", len(st.Subject), len(files))
	}
	for _, s := range st.Subject {
		if !strings.Contains(string(files["SHA256SUMS"]), s.Digest.SHA256+"  "+s.Name+"\n") {
			t.Errorf("%s has another sum in the provenance", s.Name)
		}
	}
}

// TestDescriptions: each description names an archive of the release with its sum, and is read by
// the program that it is for, where that is here.
func TestDescriptions(t *testing.T) {
	files, _ := release(t)
	dir := t.TempDir()
	wants := map[string]int{"obstat.spec": 2, "APKBUILD": 2, "obstat.winget.yaml": 2, "obstat.scoop.json": 2, "obstat.nix": 4}
	for name, want := range wants {
		text := strings.ToLower(string(files[name]))
		n := 0
		for line := range strings.Lines(string(files["SHA256SUMS"])) {
			sum, archive, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if strings.Contains(text, sum) && strings.Contains(text, "/releases/download/v1.2.3/"+archive) {
				n++
			}
		}
		if n != want || strings.Contains(text, "<no value>") {
			t.Errorf("%s names %d archives, not %d:\n%s", name, n, want, files[name])
		}
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !json.Valid(files["obstat.scoop.json"]) {
		t.Error("scoop's is no JSON")
	}
	for _, args := range [][]string{{"sh", "-n", "APKBUILD"}, {"rpmspec", "-q", "obstat.spec"},
		{"nix-instantiate", "--parse", "obstat.nix"}} {
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("there is no %s to read %s with", args[0], args[len(args)-1])
			continue
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}
