package packaging_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/packaging"
)

// packed packs this very test, which is a Go program, as if it were built for the targets.
func packed(t *testing.T, targets ...packaging.Target) map[string][]byte {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := packaging.Obstat()
	p.Version, p.Time = "1.2.3-0.20260102", time.Unix(1767312000, 0)
	p.Docs = map[string][]byte{"README.md": []byte("read me\n"), "LICENSE": []byte("do what you like\n")}
	var binaries []packaging.Binary
	for _, target := range targets {
		binaries = append(binaries, packaging.Binary{Target: target, Data: data})
	}
	files, err := p.Pack(binaries)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := packaging.Write(dir, files); err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[f.Name], err = os.ReadFile(filepath.Join(dir, f.Name)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func untar(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 1767312000 {
			t.Errorf("%s is of %d:%d %q and %s", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = data
	}
}

func TestPack(t *testing.T) {
	files, again := packed(t, packaging.Targets()...), packed(t, packaging.Targets()[0], packaging.Target{OS: "windows", Arch: "amd64"})
	for name, data := range again {
		if name != "SHA256SUMS" && name != "obstat.rb" && !strings.HasSuffix(name, "image.tar") && !bytes.Equal(data, files[name]) {
			t.Errorf("%s is another one the second time", name)
		}
	}
	for _, want := range []string{"obstat_1.2.3-0.20260102_linux_amd64.tar.gz", "obstat_1.2.3-0.20260102_darwin_arm64.tar.gz", "obstat_1.2.3-0.20260102_windows_arm64.zip", "obstat_1.2.3~0.20260102_arm64.deb",
		"obstat_1.2.3-0.20260102_image.tar", "obstat_1.2.3-0.20260102_linux_arm64.cdx.json", "obstat.rb", "SHA256SUMS"} {
		if files[want] == nil {
			t.Errorf("there is no %s", want)
		}
	}
	for line := range strings.Lines(string(files["SHA256SUMS"])) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(files[name])); got != sum {
			t.Errorf("%s has the sum %s, not %s", name, got, sum)
		}
	}
	gz, err := gzip.NewReader(bytes.NewReader(files["obstat_1.2.3-0.20260102_linux_amd64.tar.gz"]))
	if err != nil {
		t.Fatal(err)
	}
	if in := untar(t, gz); len(in["obstat_1.2.3-0.20260102_linux_amd64/obstat"]) == 0 || string(in["obstat_1.2.3-0.20260102_linux_amd64/README.md"]) != "read me\n" {
		t.Error("the archive lacks the program or a document")
	}
	zipped := files["obstat_1.2.3-0.20260102_windows_arm64.zip"]
	z, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil || z.File[0].Name != "obstat_1.2.3-0.20260102_windows_arm64/obstat.exe" {
		t.Errorf("the zip: %v", err)
	}
	if rb := string(files["obstat.rb"]); strings.Count(rb, "sha256") != 4 || !strings.Contains(rb, `license "Apache-2.0"`) {
		t.Errorf("the formula:\n%s", rb)
	}
}

// TestImage follows the image from its index to the layers; every digest holds.
func TestImage(t *testing.T) {
	in := untar(t, bytes.NewReader(packed(t, packaging.Targets()[:2]...)["obstat_1.2.3-0.20260102_image.tar"]))
	type ref struct {
		MediaType, Digest string
		Size              int
		Platform          struct{ Architecture, OS string }
	}
	type node struct {
		Manifests, Layers []ref
		Config            json.RawMessage
		RootFS            struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	follow := func(r ref) (n node, data []byte) {
		data = in["blobs/sha256/"+strings.TrimPrefix(r.Digest, "sha256:")]
		if fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != r.Digest || len(data) != r.Size {
			t.Fatalf("%v is not there, or another", r)
		}
		_ = json.Unmarshal(data, &n)
		return n, data
	}
	var index node
	if err := json.Unmarshal(in["index.json"], &index); err != nil || len(in["oci-layout"]) == 0 {
		t.Fatal("no layout", err)
	}
	list, _ := follow(index.Manifests[0])
	if len(list.Manifests) != 2 {
		t.Fatalf("%d platforms", len(list.Manifests))
	}
	for _, m := range list.Manifests {
		manifest, _ := follow(m)
		var of ref
		if err := json.Unmarshal(manifest.Config, &of); err != nil {
			t.Fatal(err)
		}
		config, text := follow(of)
		_, layer := follow(manifest.Layers[0])
		if config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest || !strings.Contains(string(text), `"Entrypoint":["/usr/bin/obstat"]`) {
			t.Errorf("%s: %s", m.Platform.Architecture, text)
		}
		if files := untar(t, bytes.NewReader(layer)); len(files["usr/bin/obstat"]) == 0 {
			t.Error("the layer lacks the program")
		}
	}
}

// TestDeb holds the package to the real dpkg-deb, where there is one: Debian always has it.
func TestDeb(t *testing.T) {
	data := packed(t, packaging.Targets()[0])["obstat_1.2.3~0.20260102_amd64.deb"]
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("there is no dpkg-deb here")
	}
	name := filepath.Join(t.TempDir(), "o.deb")
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{"--info": "Package: obstat", "--contents": "./usr/bin/obstat"} {
		out, err := exec.Command(dpkg, flag, name).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("dpkg-deb %s: %v\n%s", flag, err, out)
		}
	}
}

func TestSBOM(t *testing.T) {
	var bom struct {
		BomFormat, SpecVersion, SerialNumber string
		Metadata                             struct {
			Component struct{ Name, Version string }
		}
		Components []struct{ Type, Name, Version, Purl string }
	}
	if err := json.Unmarshal(packed(t, packaging.Targets()[0])["obstat_1.2.3-0.20260102_linux_amd64.cdx.json"], &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BomFormat != "CycloneDX" || bom.SpecVersion != "1.5" || len(bom.SerialNumber) != len("urn:uuid:")+36 || bom.Metadata.Component.Version != "v1.2.3-0.20260102" {
		t.Errorf("%+v", bom)
	}
	if len(bom.Components) == 0 || bom.Components[0].Name != "std" || !strings.HasPrefix(bom.Components[0].Purl, "pkg:golang/std@1.") {
		t.Errorf("the standard library is not first: %+v", bom.Components)
	}
}
