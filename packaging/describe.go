package packaging

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"
)

//go:embed descriptions
var descriptions embed.FS

// An archived target is an archive as the descriptions of package managers name it.
type archived struct {
	Target
	Name, URL, SHA256 string
}

// descriptions writes the files by which rpm, apk, winget, scoop and nix install the archives. Each
// is a template in the directory descriptions; one whose targets are not all there is left out.
func (p *Product) descriptions(files []File) (out []File) {
	of := map[string]archived{}
	for _, t := range Targets() {
		for _, end := range []string{".tar.gz", ".zip"} {
			name := fmt.Sprintf("%s_%s_%s%s", p.Name, p.Version, t, end)
			if i := slices.IndexFunc(files, func(f File) bool { return f.Name == name }); i >= 0 {
				of[t.String()] = archived{t, name, p.Homepage + "/releases/download/v" + p.Version + "/" + name, digest(files[i].Data)}
			}
		}
	}
	entries, err := descriptions.ReadDir("descriptions")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, e := range entries {
		text, err := descriptions.ReadFile(path.Join("descriptions", e.Name()))
		if err != nil {
			panic(err)
		}
		whole := true
		funcs := template.FuncMap{
			"at": func(target string) archived {
				a, ok := of[target]
				whole = whole && ok
				return a
			},
			"upper": strings.ToUpper,
			// RPM and apk take no hyphen in a version.
			"plain": func() string { return strings.ReplaceAll(p.debVersion(), "+", ".") },
			"apk":   func() string { return strings.NewReplacer("~", "_git", "+", "_").Replace(p.debVersion()) },
			"date":  func() string { return p.Time.UTC().Format("Mon Jan 02 2006") },
		}
		var b bytes.Buffer
		if err := template.Must(template.New("").Funcs(funcs).Parse(string(text))).Execute(&b, p); err != nil {
			panic(err) // fields of Product alone
		}
		if whole {
			out = append(out, File{e.Name(), 0o644, b.Bytes()})
		}
	}
	return out
}
