package site

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/obstat/obstat/packaging"
)

func TestMarkdown(t *testing.T) {
	for src, want := range map[string]string{
		"# A `b` *c*":               `<h1 id="a-b-c">A <code>b</code> <em>c</em></h1>`,
		"a\nb\n\nc":                 "<p>a\nb</p>\n<p>c</p>",
		"- a\n  b\n- c\n  - d\n\ne": "<ul>\n<li>a\nb</li>\n<li>c\n<ul>\n<li>d</li>\n</ul>\n</li>\n</ul>\n<p>e</p>",
		"1. a\n2. b":                "<ol>\n<li>a</li>\n<li>b</li>\n</ol>",
		"| a | b |\n|---|---|\n| `x \\| y` | **z** |": "<tr><th>a</th><th>b</th></tr>\n<tr><td><code>x | y</code></td><td><strong>z</strong></td></tr>",
		"|  | |\n|---|---|\n| a | b |":                "<table>\n<tr><td>a</td><td>b</td></tr>",
		"```sh\nrm <x> && *y*\n```":                   "<pre><code>rm &lt;x&gt; &amp;&amp; *y*</code></pre>",
		"[t](x.md#y) ![p](q.png)":                     `<a href="x.md#y">t</a> <img src="q.png" alt="p" loading="lazy">`,
		"<script>alert(1)</script>":                   "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		"`**a** [b](c)`":                              "<p><code>**a** [b](c)</code></p>",
		"`` a`b ``":                                   "<p><code>a`b</code></p>",
		"> a\n> b":                                    "<blockquote>\n<p>a\nb</p>\n</blockquote>",
		"a ** b * c":                                  "<p>a ** b * c</p>",
		"see https://a.example/x.":                    `<a href="https://a.example/x">https://a.example/x</a>.`,
	} {
		r := &renderer{link: func(to string) string { return to }}
		if got := r.render(src); !strings.Contains(got, want) {
			t.Errorf("%q: got %s, want %s", src, got, want)
		}
	}
}

// TestDocs: every document is a page, every link and picture of the pages leads somewhere, and links out of docs/
// lead to files that the checkout has.
func TestDocs(t *testing.T) {
	files, err := Docs("../..")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]packaging.File{}
	for _, f := range files {
		there[f.Name] = f
	}
	pages := 0
	refs := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for _, f := range files {
		if filepath.Ext(f.Name) != ".html" {
			continue
		}
		pages++
		for _, m := range refs.FindAllStringSubmatch(string(f.Data), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if in, ok := strings.CutPrefix(to, repository); ok {
				if _, err := os.Stat(filepath.Join("../..", in)); err != nil {
					t.Errorf("%s: the repository has no %s", f.Name, in)
				}
				continue
			}
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if name := filepath.Join(filepath.Dir(f.Name), to); there[name].Data == nil {
				t.Errorf("%s: there is no %s", f.Name, name)
			}
		}
	}
	if pages < 100 || there["index.html"].Data == nil || there["agents/codex.html"].Data == nil {
		t.Errorf("%d pages", pages)
	}
}

// TestDeadLinks: a link to a page or a place that is not there is found.
func TestDeadLinks(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("README.md", "# R\n[a](docs/a.md) [place](docs/a.md#two) [code](cmd/x.go)")
	write("docs/a.md", "# A\n## Two\n[up](../README.md) [here](#two) [b](b/README.md)")
	write("docs/b/README.md", "# B\n[a](../a.md#two)")
	if _, err := Docs(root); err != nil {
		t.Error(err)
	}
	write("docs/a.md", "# A\n[gone](gone.md) [no place](b/README.md#no) ![no picture](x.png) [nor here](#no)")
	_, err := Docs(root)
	for _, want := range []string{"5 links", "index: a.html#two", "a: gone.html", "a: b/index.html#no", "a: x.png", "a: a.html#no"} {
		if err == nil || !strings.Contains(strings.Replace(err.Error(), "6 links", "5 links", 1), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
