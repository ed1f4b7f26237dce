package site

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/packaging"
)

//go:embed theme
var theme embed.FS

// repository is where links out of docs/ lead to: `../internal/floor` of docs/gate.md.
const repository = "https://github.com/obstat/obstat/blob/main/"

// sections are the groups of the site's navigation, in order, by the directory below docs/.
var sections = []struct{ dir, title string }{{".", "Reference"}, {"cookbook", "Cookbook"}, {"agents", "Agents"},
	{"dialects", "Dialects"}, {"frameworks", "Frameworks"}, {"design", "Design"}, {"contributing", "Contributing"}}

// first are the pages of the reference that a newcomer wants, in order; the others follow by name.
var first = []string{"install", "playground", "policy", "presets", "cli", "threat-model", "undo", "mcp",
	"server", "ci"}

// A page is one document.
type page struct {
	Name    string // below docs/, without .md: `agents/codex`
	Title   string
	HTML    template.HTML
	TOC     []heading
	Section string
	text    string // for the search
	links   []string
}

// Docs returns the documentation's site, made from docs/ and README.md of the checkout at root. A link that leads
// nowhere is an error.
func Docs(root string) ([]packaging.File, error) {
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	out, err := static(root)
	if err != nil {
		return nil, err
	}
	layout, err := template.New("page.html").Funcs(template.FuncMap{"up": up}).ParseFS(theme, "theme/page.html")
	if err != nil {
		return nil, err
	}
	nav := navigation(pages)
	for _, p := range pages {
		var b bytes.Buffer
		if err := layout.Execute(&b, map[string]any{"Page": p, "Nav": nav, "Home": p.Name == "index"}); err != nil {
			return nil, err
		}
		out = append(out, packaging.File{Name: p.Name + ".html", Mode: 0o644, Data: b.Bytes()})
	}
	index, err := searchIndex(pages)
	if err != nil {
		return nil, err
	}
	out = append(out, packaging.File{Name: "search.js", Mode: 0o644, Data: index})
	if err := checkLinks(pages, out); err != nil {
		return nil, err
	}
	return out, nil
}

// readPages renders README.md, as the site's first page, and all of docs/.
func readPages(root string) (out []*page, err error) {
	add := func(file, from, name string) error {
		src, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		out = append(out, newPage(string(src), from, name))
		return nil
	}
	if err := add("README.md", ".", "index"); err != nil {
		return nil, err
	}
	docs := filepath.Join(root, "docs")
	err = filepath.WalkDir(docs, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".md" {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		return add(rel, path.Dir(rel), pageName(strings.TrimPrefix(rel, "docs/")))
	})
	return out, err
}

// pageName returns the name of a document's page: `agents/index` for agents/README.md.
func pageName(file string) string {
	name := strings.TrimSuffix(file, ".md")
	if path.Base(name) == "README" {
		return path.Join(path.Dir(name), "index")
	}
	return name
}

// newPage renders a document of a directory of the checkout.
func newPage(src, from, name string) *page {
	p := &page{Name: name, Section: path.Dir(name), text: src}
	r := &renderer{link: func(to string) string {
		at := target(to, from)
		p.links = append(p.links, at)
		if strings.Contains(at, "://") || strings.HasPrefix(at, "#") {
			return at
		}
		return up(name) + at
	}}
	p.HTML = template.HTML(r.render(src)) //nolint:gosec // the renderer escapes everything that is not its own
	p.TOC = r.toc
	p.Title = name
	if len(r.toc) > 0 {
		p.Title = r.toc[0].Text
	}
	return p
}

// target returns a link's address from the site's root. Documents are pages, files of docs/ are files, everything
// else of the checkout is in the repository.
func target(to, from string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Path == "" {
		return to
	}
	file := path.Join(from, u.Path)
	suffix := ""
	if u.Fragment != "" {
		suffix = "#" + u.Fragment
	}
	in, inside := strings.CutPrefix(file, "docs/")
	switch {
	case file == "README.md":
		return "index.html" + suffix
	case inside && strings.HasSuffix(in, ".md"):
		return pageName(in) + ".html" + suffix
	case inside && path.Ext(in) != "":
		return in
	case file == "docs":
		return "index.html"
	}
	return repository + file
}

// up returns the way from a page to the site's root: `../` for agents/codex.
func up(name string) string { return strings.Repeat("../", strings.Count(name, "/")) }

// A section is a group of the navigation.
type section struct {
	Title string
	Pages []*page
}

func navigation(pages []*page) (out []section) {
	rank := func(p *page) int {
		if at := slices.Index(first, p.Name); at >= 0 {
			return at
		}
		if path.Base(p.Name) == "index" {
			return -1
		}
		return len(first)
	}
	for _, s := range sections {
		group := section{Title: s.title}
		for _, p := range pages {
			if p.Section == s.dir && p.Name != "index" {
				group.Pages = append(group.Pages, p)
			}
		}
		slices.SortStableFunc(group.Pages, func(a, b *page) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Title, b.Title))
		})
		out = append(out, group)
	}
	return out
}

// static returns the theme's files and the pictures of docs/.
func static(root string) (out []packaging.File, err error) {
	for _, name := range []string{"site.css", "site.js"} {
		data, err := theme.ReadFile("theme/" + name)
		if err != nil {
			return nil, err
		}
		out = append(out, packaging.File{Name: name, Mode: 0o644, Data: data})
	}
	docs := filepath.Join(root, "docs")
	err = filepath.WalkDir(docs, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) == ".md" {
			return err
		}
		rel, err := filepath.Rel(docs, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		out = append(out, packaging.File{Name: filepath.ToSlash(rel), Mode: 0o644, Data: data})
		return err
	})
	return out, err
}

// A found is one part of a page in the search's index: a heading, and the text below it.
type found struct {
	Page string `json:"p"`
	ID   string `json:"i"`
	Text string `json:"t"` // the heading
	Of   string `json:"o"` // the page's title
	Body string `json:"b"`
}

// maxBody bounds the text of one part, so that the index stays small beside the pages.
const maxBody = 600

// searchIndex returns the index as a script.
func searchIndex(pages []*page) ([]byte, error) {
	var list []found
	for _, p := range pages {
		at := found{Page: p.Name + ".html", Text: p.Title, Of: p.Title}
		n, fenced := 0, false
		for line := range strings.Lines(p.text) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
				continue
			}
			if anchorLine.MatchString(strings.TrimSpace(line)) {
				n++
				continue
			}
			if headingLine.MatchString(strings.TrimSpace(line)) && !fenced && n < len(p.TOC) {
				if at.Body != "" || n > 0 {
					list = append(list, at)
				}
				at = found{Page: p.Name + ".html", ID: p.TOC[n].ID, Text: p.TOC[n].Text, Of: p.Title}
				n++
			} else if len(at.Body) < maxBody {
				at.Body += strings.Join(strings.Fields(plain(line)), " ") + " "
			}
		}
		list = append(list, at)
	}
	text, err := json.Marshal(list)
	return append(append([]byte("const INDEX = "), text...), ";\n"...), err
}

// checkLinks returns an error with every link that leads nowhere.
func checkLinks(pages []*page, files []packaging.File) error {
	there := map[string]bool{}
	for _, f := range files {
		there[f.Name] = true
	}
	ids := map[string]bool{}
	for _, p := range pages {
		for _, h := range p.TOC {
			ids[p.Name+".html#"+h.ID] = true
		}
	}
	var dead []string
	for _, p := range pages {
		for _, to := range p.links {
			if strings.HasPrefix(to, "#") {
				to = p.Name + ".html" + to
			}
			file, id, placed := strings.Cut(to, "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") ||
				there[file] && (!placed || ids[file+"#"+id]) {
				continue
			}
			dead = append(dead, p.Name+": "+to)
		}
	}
	if len(dead) > 0 {
		return fmt.Errorf("%d links lead nowhere:\n%s", len(dead), strings.Join(dead, "\n"))
	}
	return nil
}
