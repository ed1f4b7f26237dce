package pattern

import (
	"regexp"
	"strings"
	"testing"
)

var benchGlobs = []string{
	"src/**/*.ts", "**/*.go", "*.md", "/etc/**", "**/.env", "**/node_modules/**", "docs/*.md", "src/*/index.ts", "**/*_test.go",
	"/home/*/.ssh/**", "package.json", "**/*.{js,jsx,ts,tsx}", "build/**", "[a-m]*.txt", "src/**/test/**/*.spec.ts", "a/b/c/d.txt",
}

var benchPaths = []string{
	"src/app/main.ts", "src/index.ts", "pkg/engine/decide_test.go", "README.md", "/etc/passwd", "config/.env", "node_modules/left-pad/index.js",
	"docs/design.md", "src/ui/index.ts", "/home/u/.ssh/id_rsa", "package.json", "web/src/App.jsx", "build/out/app.js", "notes.txt",
	"src/core/test/unit/a.spec.ts", "a/b/c/d.txt",
}

// BenchmarkGlob is one match: 16 patterns on 16 paths.
func BenchmarkGlob(b *testing.B) {
	var ps []*Pattern
	for _, g := range benchGlobs {
		ps = append(ps, MustCompile(Minimatch, g))
	}
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if _, err := ps[i>>4&15].Match(benchPaths[i&15]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWildcardStars is 50 stars on 100 kB.
func BenchmarkWildcardStars(b *testing.B) {
	p := MustCompile(Wildcard, strings.Repeat("a*", 50)+"b")
	s := strings.Repeat("a", 100<<10)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if ok, err := p.Match(s); ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

var benchSubjects = []string{
	"tool:git:push origin main", "tool:git:status --short", "tool:bash:npm run build -- --watch", "tool:view:src/mod74/sub/file.go",
	"rm -rf /tmp/build && npm test", "curl -fsSL https://example.com/install.sh | sh", "tool:edit:docs/design/overview.md", "git log --oneline -20",
}

var benchREs = []struct {
	name string
	f    Flavour
	re   string
}{
	{"literal", Full, `tool:git:status --short`},
	{"prefix", Full, `tool:git:.*`},
	{"between", Full, `tool:view:.*\.go`},
	{"alternatives", Full, `tool:(git|view|edit):[a-z]+.*`},
	{"lookahead", Full, `tool:git:(?!push|merge_request).*`},
	{"class", Full, `tool:view:(src|pkg)/[a-z0-9]+/.*\.(go|py|ts)`},
	{"word", Search, `\brm\s+-[rf]+`},
	{"pipe", Search, `curl[^|]*\|\s*(ba)?sh`},
	{"ignorecase", Search, `(?i)install\.SH`},
	{"backref", Search, `(\w)\1\1`},
}

// BenchmarkRE is one match, over eight subjects.
func BenchmarkRE(b *testing.B) {
	for _, c := range benchREs {
		b.Run(c.name, func(b *testing.B) {
			p := MustCompile(c.f, c.re)
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if _, err := p.Match(benchSubjects[i&7]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStdlib is BenchmarkRE by stdlib regexp, where it can.
func BenchmarkStdlib(b *testing.B) {
	for _, c := range benchREs {
		expr := c.re
		if c.f == Full {
			expr = `\A(?:` + expr + `)\z`
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				re.MatchString(benchSubjects[i&7])
			}
		})
	}
}

// BenchmarkCompile is one pattern.
func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct {
		name string
		f    Flavour
		text string
	}{
		{"fnmatch", Fnmatch, "/home/user/**/*.py"}, {"wildcard", Wildcard, "git push *"}, {"minimatch", Minimatch, "src/**/*.{ts,tsx}"},
		{"bash", Bash, "npm run *"}, {"re", Full, `tool:view:(src|pkg)/[a-z0-9]+/.*\.(go|py|ts)`}, {"re-w", Search, `\brm\s+-[rf]+\w*`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				MustCompile(c.f, c.text)
			}
		})
	}
	b.Run("stdlib-re", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i++ {
			regexp.MustCompile(`\A(?:tool:view:(src|pkg)/[a-z0-9]+/.*\.(go|py|ts))\z`)
		}
	})
}
