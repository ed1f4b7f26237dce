package packaging

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// program returns the binary as a file of a package.
func (p *Product) program(b Binary) File {
	name := p.Name
	if b.OS == "windows" {
		name += ".exe"
	}
	return File{name, 0o755, b.Data}
}

// docs returns the documents, below a directory.
func (p *Product) docs(dir string) (out []File) {
	for _, name := range slices.Sorted(maps.Keys(p.Docs)) {
		out = append(out, File{path.Join(dir, name), 0o644, p.Docs[name]})
	}
	return out
}

// man returns the pages of the manual, below a directory.
func (p *Product) man(dir string) (out []File) {
	for _, name := range slices.Sorted(maps.Keys(p.Man)) {
		out = append(out, File{path.Join(dir, name), 0o644, p.Man[name]})
	}
	return out
}

// below returns the files below a directory.
func below(dir string, files []File) (out []File) {
	for _, f := range files {
		f.Name = path.Join(dir, f.Name)
		out = append(out, f)
	}
	return out
}

// play packs the playground, for other web servers.
func (p *Product) play() (File, error) {
	base := fmt.Sprintf("%s_%s_play", p.Name, p.Version)
	data, err := p.tarball(below(base, p.Play), true)
	return File{base + ".tar.gz", 0o644, data}, err
}

// archive packs the binary with the documents: a zip for Windows, else a tar.gz.
func (p *Product) archive(b Binary) (File, error) {
	base := fmt.Sprintf("%s_%s_%s", p.Name, p.Version, b.Target)
	files := append(append([]File{p.program(b)}, p.docs("")...), p.man("man")...)
	for i := range files {
		files[i].Name = path.Join(base, files[i].Name)
	}
	if b.OS != "windows" {
		data, err := p.tarball(files, true)
		return File{base + ".tar.gz", 0o644, data}, err
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: p.Time.UTC()}
		h.SetMode(0o755)
		out, err := w.CreateHeader(h)
		if err == nil {
			_, err = out.Write(f.Data)
		}
		if err != nil {
			return File{}, err
		}
	}
	err := w.Close()
	return File{base + ".zip", 0o644, buf.Bytes()}, err
}

// tarball packs files with the directories above them, all of root and of the product's time.
func (p *Product) tarball(files []File, zipped bool) ([]byte, error) {
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	w := tar.NewWriter(gz)
	if !zipped {
		w = tar.NewWriter(&buf)
	}
	made := map[string]bool{".": true, "": true, "/": true}
	for _, f := range files {
		var dirs []string
		for d := path.Dir(f.Name); !made[d]; d = path.Dir(d) {
			dirs, made[d] = append(dirs, d), true
		}
		for _, d := range slices.Backward(dirs) {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: 0o755, ModTime: p.Time.UTC(),
				Format: tar.FormatUSTAR}); err != nil {
				return nil, err
			}
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: f.Mode, Size: int64(len(f.Data)),
			ModTime: p.Time.UTC(), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if zipped {
		if err := gz.Close(); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}

// deb makes a Debian package: an ar archive of a version, a control and a data tarball.
func (p *Product) deb(b Binary) (File, error) {
	program := p.program(b)
	program.Name = "./usr/bin/" + program.Name
	files := append(append([]File{program}, p.docs("./usr/share/doc/"+p.Name)...), p.man("./usr/share/man/man1")...)
	for i := range files {
		files[i].Name = "./" + strings.TrimPrefix(files[i].Name, "./")
	}
	var md5s strings.Builder
	size := 0
	for _, f := range files {
		fmt.Fprintf(&md5s, "%x  %s\n", md5.Sum(f.Data), strings.TrimPrefix(f.Name, "./"))
		size += len(f.Data)
	}
	control := fmt.Sprintf("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\nInstalled-Size: %d\nSection: "+
		"devel\nPriority: optional\nHomepage: %s\nDescription: %s\n %s\n",
		p.Name, p.debVersion(), b.Arch, p.Maintainer, (size+1023)/1024, p.Homepage, p.Summary,
		strings.ReplaceAll(p.Description, "\n", "\n "))
	data, err := p.tarball(files, true)
	if err != nil {
		return File{}, err
	}
	meta, err := p.tarball([]File{{"./control", 0o644, []byte(control)}, {"./md5sums", 0o644, []byte(md5s.String())}},
		true)
	if err != nil {
		return File{}, err
	}
	var buf bytes.Buffer
	buf.WriteString("!<arch>\n")
	for _, f := range []File{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, meta},
		{"data.tar.gz", 0o644, data}} {
		fmt.Fprintf(&buf, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.Name, p.Time.Unix(), 0, 0, 0o100000|f.Mode, len(f.Data))
		buf.Write(f.Data)
		if len(f.Data)%2 == 1 {
			buf.WriteByte('\n')
		}
	}
	return File{fmt.Sprintf("%s_%s_%s.deb", p.Name, p.debVersion(), b.Arch), 0o644, buf.Bytes()}, nil
}

// debVersion is the version as Debian orders them: a pre-release sorts before its release.
func (p *Product) debVersion() string {
	head, tail, cut := strings.Cut(p.Version, "-")
	if !cut {
		return head
	}
	return head + "~" + strings.ReplaceAll(tail, "-", ".")
}

// formula writes the Homebrew formula for the archives among the files.
func (p *Product) formula(files []File) File {
	var b strings.Builder
	fmt.Fprintf(&b, "class %s < Formula\n  desc %q\n  homepage %q\n  version %q\n  license %q\n", strings.ToUpper(p.Name[:1])+p.Name[1:], p.Summary, p.Homepage, p.Version, p.License)
	for _, system := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		fmt.Fprintf(&b, "\n  on_%s do\n", system[0])
		for _, arch := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := fmt.Sprintf("%s_%s_%s.tar.gz", p.Name, p.Version, Target{system[1], arch[1]})
			if i := slices.IndexFunc(files, func(f File) bool { return f.Name == name }); i >= 0 {
				fmt.Fprintf(&b, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", arch[0], p.Homepage+"/releases/download/v"+p.Version+"/"+name, digest(files[i].Data))
			}
		}
		b.WriteString("  end\n")
	}
	fmt.Fprintf(&b, "\n  def install\n    bin.install %q\n    generate_completions_from_executable(bin/%q, \"completion\")\n  end\n\n  test do\n    assert_match version.to_s, shell_output(\"#{bin}/%s version\")\n  end\nend\n", p.Name, p.Name, p.Name)
	return File{p.Name + ".rb", 0o644, []byte(b.String())}
}
