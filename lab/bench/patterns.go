package main

import (
	"fmt"
	"regexp"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	gobwas "github.com/gobwas/glob"

	"github.com/obstat/obstat/pattern"
)

var globPatterns = []string{"*", "**", "*.go", "**/*.go", "src/**", "src/**/*.go", "src/*/x.go", "**/node_modules/**", "{src,test}/**/*.ts", "docs/*.md",
	"**/.env*", "a/b/c/d.txt", "src/**/test/**/*.py", "[a-c]*/*.js", "internal/*/*_test.go", "**/*.{json,yaml,toml}"}

var globPaths = []string{"main.go", "src/a.go", "src/b/x.go", "src/b/c/d/e.go", "web/node_modules/x/index.js", "test/unit/a.ts", "docs/intro.md", "a/b/c/d.txt",
	"src/app/test/unit/x.py", "apps/x.js", "internal/face/cli/cli_test.go", "config/app.yaml", "README", "deep/er/and/deep/er/still.json", "src/b/c.go", "lib/x.rs"}

// globs compares one match of a glob.
func globs(rounds int, limit time.Duration) {
	var ours []*pattern.Pattern
	var theirs []*gobwas.Pattern
	for _, p := range globPatterns {
		ours = append(ours, pattern.MustCompile(pattern.Minimatch, p))
		theirs = append(theirs, gobwas.MustCompile(p, '/'))
	}
	rows := []contender{
		{"obstat", func(i int) { ours[i%16].Match(globPaths[i/16%16]) }},
		{"doublestar", func(i int) { doublestar.MatchUnvalidated(globPatterns[i%16], globPaths[i/16%16]) }},
		{"gobwas/glob", func(i int) { theirs[i%16].Match(globPaths[i/16%16]) }},
	}
	fmt.Println("| glob, 16 patterns × 16 paths | CPU per match | × obstat |\n|---|---|---|")
	compare(rows, rounds, limit)
}

// regexps compares finding the first of many expressions that matches.
func regexps(rounds int, limit time.Duration) {
	fmt.Println("| expressions | engine | CPU per text | × one expression |\n|---|---|---|---|")
	var one float64
	for _, n := range []int{1, 100, 1000} {
		var entries []pattern.Entry
		var std []*regexp.Regexp
		for i := 0; len(entries) < n; i++ {
			text := fmt.Sprintf(`^(git|npm) (run|push) .*mod%d\.(go|py)$`, i)
			entries = append(entries, pattern.Entry{Pattern: pattern.MustCompile(pattern.Search, text), Rank: uint32(i)})
			std = append(std, regexp.MustCompile(text))
		}
		set := pattern.NewSet(entries)
		texts := make([]string, 2000)
		for i := range texts { // every second one matches, at any number of expressions
			texts[i] = fmt.Sprintf("git push --all x mod%d.go", i/2%n+i%2*n)
			set.Best(texts[i], ^uint32(0)) // the set builds its index when it is asked often
		}
		rows := []contender{
			{"obstat", func(i int) { set.Best(texts[i%len(texts)], ^uint32(0)) }},
			{"regexp, one by one", func(i int) {
				for _, re := range std {
					if re.MatchString(texts[i%len(texts)]) {
						return
					}
				}
			}},
		}
		for _, r := range rows {
			v := r.time(rounds, limit)
			if n == 1 && r.name == "obstat" {
				one = v
			}
			fmt.Printf("| %d | %s | %s | %.1f |\n", n, r.name, ns(v), v/one)
		}
	}
}

// A contender does one piece of work; i says which.
type contender struct {
	name string
	do   func(i int)
}

func (c *contender) time(rounds int, limit time.Duration) float64 {
	var all []float64
	for range rounds {
		start, wall, n := cpu(), time.Now(), 0
		for time.Since(wall) < limit {
			for range 64 {
				c.do(n)
				n++
			}
		}
		all = append(all, float64(cpu()-start)/float64(n))
	}
	return median(all)
}

func compare(rows []contender, rounds int, limit time.Duration) {
	var ours float64
	for i := range rows {
		v := rows[i].time(rounds, limit)
		if i == 0 {
			ours = v
		}
		fmt.Printf("| %s | %s | %.1f |\n", rows[i].name, ns(v), v/ours)
	}
}
