package pattern

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	benchPrograms = []string{"git", "npm", "go", "docker", "kubectl", "cargo", "make", "python", "terraform", "aws"}
	benchWords    = []string{"build", "push", "run", "test", "apply", "install", "status", "deploy", "login", "exec"}
	benchDirs     = []string{"src", "pkg", "internal", "cmd", "docs", "web", "api", "lib", "tools", "deploy"}
	benchExts     = []string{"go", "py", "ts", "rs", "md", "yaml", "json", "env", "lock", "txt"}
)

func compiled(f Flavour, text string) func() *Pattern {
	return func() *Pattern { return MustCompile(f, text) }
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// benchPattern draws from the mix of a large policy: a tenth whole tools, 35 %
// command prefixes, 35 % path globs, a fifth regular expressions. Its sample is
// a text that it matches.
func benchPattern(seed uint64, i int) (p func() *Pattern, sample string) {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	prog, word, dir, ext := pick(r, benchPrograms), pick(r, benchWords), pick(r, benchDirs), pick(r, benchExts)
	switch n := r.IntN(100); {
	case n < 10:
		tool := fmt.Sprintf("mcp__server%d__", i)
		return compiled(Fnmatch, tool+"*"), tool + "create_issue title=fix the build of the day"
	case n < 45:
		cmd := fmt.Sprintf("%s %s task%d", prog, word, i)
		return compiled(Fnmatch, cmd+" *"), cmd + " --verbose --output=/tmp/result.txt --all"
	case n < 60:
		tree := fmt.Sprintf("/home/user/work/%s/mod%d/", dir, i)
		return compiled(Fnmatch, tree+"*"), tree + "sub/deeper/file_of_some_name." + ext
	case n < 70:
		tree := fmt.Sprintf("/home/user/work/%s/mod%d/", dir, i)
		return compiled(Fnmatch, tree+"*."+ext), tree + "sub/deeper/file_of_some_name." + ext
	case n < 75:
		name := fmt.Sprintf("settings%d.%s", i, ext)
		return compiled(Fnmatch, "*/"+name), "/home/user/work/some/where/else/" + name
	case n < 80:
		glob := fmt.Sprintf("/home/user/work/%s/[a-z]*/mod%d.%s", dir, i, ext)
		return compiled(Fnmatch, glob), fmt.Sprintf("/home/user/work/%s/something/mod%d.%s", dir, i, ext)
	case n < 90:
		flag := fmt.Sprintf("--flag%d=", i)
		return compiled(Full, prog+" .*"+flag+".*"), fmt.Sprintf("%s %s --some=thing %sx --another=thing", prog, word, flag)
	case n < 95:
		expr := fmt.Sprintf(`view (src|pkg)/[a-z]+%d/.*\.(go|py|ts)`, i)
		return compiled(Full, expr), fmt.Sprintf("view src/module%d/sub/deeper/file_of_some_name.go", i)
	}
	expr := fmt.Sprintf(`(curl|wget)[^|]*https?://host%d\.example\.(com|org)(/.*)?`, i)
	return compiled(Full, expr), fmt.Sprintf("curl -sSL -o /tmp/out https://host%d.example.com/install.sh", i)
}

// benchPatterns holds what benchEntries compiled, for benchmarks that are run
// several times.
var benchPatterns sync.Map

func benchEntries(n int) []Entry {
	if made, ok := benchPatterns.Load(n); ok {
		return slices.Clone(made.([]Entry))
	}
	r := rand.New(rand.NewPCG(7, 7))
	entries := make([]Entry, n)
	for i := range entries {
		p, _ := benchPattern(1, i)
		entries[i] = Entry{p(), uint32(r.IntN(n))}
	}
	benchPatterns.Store(n, slices.Clone(entries))
	return entries
}

// benchTexts are half derived from the patterns of benchEntries(patterns) and
// half from others like them.
func benchTexts(n, patterns int) []string {
	r := rand.New(rand.NewPCG(8, 8))
	texts := make([]string, n)
	for i := range texts {
		seed, at := uint64(1), r.IntN(patterns)
		if i%2 == 1 {
			seed, at = 2, at+1_000_000
		}
		_, texts[i] = benchPattern(seed, at)
	}
	return texts
}

func benchBest(b *testing.B, s *Set, texts []string) {
	s.build()
	for i := range 20 * len(texts) {
		s.Best(texts[i%len(texts)], none)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		s.Best(texts[i%len(texts)], none)
	}
}

func BenchmarkSet(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			benchBest(b, NewSet(benchEntries(n)), benchTexts(10_000, n))
		})
	}
}

// BenchmarkSetTools spreads the patterns over the sets of fifty tools, a tenth
// of them matching everything.
func BenchmarkSetTools(b *testing.B) {
	const tools = 50
	for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			sets := map[string]*Set{}
			names := make([]string, tools)
			var entries [tools][]Entry
			for i, e := range benchEntries(n) {
				if i%10 == 0 {
					e.Pattern = MustCompile(Fnmatch, "*")
				}
				entries[i*7%tools] = append(entries[i*7%tools], e)
			}
			for i := range names {
				names[i] = fmt.Sprintf("tool_number_%d", i)
				sets[names[i]] = NewSet(entries[i])
				sets[names[i]].build()
			}
			texts := benchTexts(10_000, n)
			for i := range 50 * len(texts) {
				sets[names[i%tools]].Best(texts[i%len(texts)], none)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				sets[names[i%tools]].Best(texts[i%len(texts)], none)
			}
		})
	}
}

func BenchmarkSetRegexps(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			benchBest(b, NewSet(benchRegexps(n)), benchRegexpTexts(1000, n))
		})
	}
}

// benchRegexps have no literal that could tell them apart.
func benchRegexps(n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		a, c := benchWords[i%10], benchDirs[i/10%10]
		entries[i] = Entry{MustCompile(Full, []string{
			fmt.Sprintf(`(view|edit) (%s|%s)/[a-z]+%d/.*\.(go|py|ts)`, a, c, i),
			fmt.Sprintf(`(?i)%s [a-z]+ .*%s%d.*`, a, c, i),
			fmt.Sprintf(`[a-z]+ (%s|%s)( --[a-z]+)* x?%d( .*)?`, a, c, i),
			fmt.Sprintf(`.*[;&|] *%s [a-z]*%d`, a, i),
		}[i%4]), uint32(i)}
	}
	return entries
}

func benchRegexpTexts(n, patterns int) []string {
	r := rand.New(rand.NewPCG(9, 9))
	texts := make([]string, n)
	for j := range texts {
		i := r.IntN(patterns)
		a, c := benchWords[i%10], benchDirs[i/10%10]
		texts[j] = []string{
			fmt.Sprintf("view %s/module%d/deeper/down/file_of_some_name.go", a, i),
			fmt.Sprintf("%s something in the %s%d with a few words more", a, c, i),
			fmt.Sprintf("npm %s --verbose --all --force x%d and the rest of it", a, i+j%2),
			fmt.Sprintf("echo a line that is long enough; %s number%d", a, i),
		}[i%4]
	}
	return texts
}

// BenchmarkSetLong is a text of a megabyte.
func BenchmarkSetLong(b *testing.B) {
	s := NewSet(append(benchEntries(1000), benchRegexps(100)...))
	s.build()
	text := strings.Repeat("a line of a long text; it says curl and git and --flag and nothing else\n", 1<<20/72)
	s.Best(text, none)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s.Best(text, none)
	}
}

// BenchmarkSetOnce is what a process pays that asks one question.
func BenchmarkSetOnce(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			entries, texts := benchEntries(n), benchTexts(1000, n)
			for i := range entries {
				entries[i].Rank = uint32(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				NewSet(entries).Best(texts[i%len(texts)], none)
			}
		})
	}
}

func BenchmarkSetBuild(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			entries := benchEntries(n)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				NewSet(entries).build()
			}
		})
	}
}
