package effect

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile are commands of about size bytes that cost an analysis without limits its time, its
// memory or its stack. Those that only a parser sees are in package shell.
func hostile(size int) map[string]string {
	rep := func(s string) string { return strings.Repeat(s, size/len(s)) }
	out := map[string]string{
		"doors":          "cat /proc/self/root" + rep("/proc/self/root") + "/etc/shadow",
		"own door":       "cd /proc/self/cwd; cat /proc/self/cwd/x",
		"directories":    strings.Repeat("cd a;", 6500),
		"unsure":         strings.Repeat("cd a;rm b;", 3200),
		"up":             "cat " + rep("../"),
		"slashes":        "cat " + rep("/"),
		"deep path":      "cat " + rep("/a"),
		"globs":          "rm " + strings.Repeat("*/.e* ", 4000),
		"one glob":       "ls " + rep("a*b"),
		"bundle":         "tar " + rep("x"),
		"bundle values":  "tar " + rep("f"),
		"letters":        "ls -" + rep("l"),
		"flags":          "git log " + strings.Repeat("--oneline ", 3200),
		"settings":       "git " + strings.Repeat("-c alias.x=!rm ", 2000) + "status",
		"places":         "git " + rep("-C a ") + "status",
		"operands":       "rm " + strings.Repeat("a/b ", 8000),
		"long name":      rep("é"),
		"long flag":      "git --" + rep("a"),
		"wrappers":       strings.Repeat("env ", 8000) + "rm x",
		"finds":          strings.Repeat("find -exec ", 2900),
		"execs":          "find . " + strings.Repeat("-exec rm {} ; ", 2300),
		"marks":          "xargs -I{} rm " + strings.Repeat("{} ", 10000),
		"parallel":       "parallel rm {} ::: " + strings.Repeat("a ", 15000),
		"remote":         "ssh h " + strings.Repeat("rm a ';' ", 3600),
		"inner":          "sh -c '" + rep("rm a;") + "'",
		"inners":         strings.Repeat("sh -c 'rm a';", 2500),
		"evals":          strings.Repeat("eval 'rm a';", 2600),
		"awk":            "awk '" + rep("{print $1}") + "'",
		"awk word":       "awk '" + rep("a") + "'",
		"sed":            "sed '" + rep("s/a/b/;") + "'",
		"sed commands":   "sed '" + rep("p;") + "' f",
		"sed groups":     "sed -e '" + rep("{") + "'",
		"sql":            "psql -c '" + rep("select 1;") + "'",
		"sql word":       "sqlite3 x '" + rep("select ") + "'",
		"socat":          "socat " + rep("EXEC:a,") + " b",
		"url":            "curl http://" + rep("a."),
		"assignments":    "env " + strings.Repeat("GIT_X=b ", 4000) + "ls",
		"programs":       programs(),
		"service words":  "heroku " + strings.Repeat("x ", 30000),
		"printed words":  strings.Repeat("git push $(nproc) $(git ls-files);", 900) + "f() { x; }",
		"eval eval":      rep("eval "),
		"xargs xargs":    rep("xargs "),
		"redirects":      "ls " + rep(">a "),
		"lists":          rep("a;"),
		"attached exec":  "find . " + rep("-exec=x "),
		"quotes nested":  nested(size, "'", strings.NewReplacer("'", `'\''`)),
		"quotes nested2": nested(size, `"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`)),
	}
	return out
}

// programs is one command of every program that is known.
func programs() string {
	var b strings.Builder
	for _, p := range knownPrograms() {
		fmt.Fprintf(&b, "%s a b --x y\n", p)
	}
	return b.String()
}

// nested is sh -c within sh -c, quoted again and again until it is as long as a text may be.
func nested(size int, quote string, q *strings.Replacer) string {
	s := "rm a"
	for {
		next := "sh -c " + quote + q.Replace(s) + quote
		if len(next) > size {
			return s
		}
		s = next
	}
}

// TestHostile: every analysis ends, in bounded memory and time and with a bounded answer, and no
// panic is recovered on the way. The processor time allowed is many times what it takes.
func TestHostile(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, size := range []int{64 << 10, 1<<20 - 64} {
		for name, src := range hostile(size) {
			for _, o := range []*Options{nil, testOptions()} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := cpuTime()
				an := AnalyzeCommand(src, o)
				if d := cpuTime() - start; d > 3*time.Second {
					t.Errorf("%s: %v for %d bytes", name, d, len(src))
				}
				runtime.ReadMemStats(&after)
				if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
					t.Errorf("%s: %d MB allocated for %d bytes", name, mb, len(src))
				}
				if len(an.Commands)*commandWork+len(an.Effects)*effectWork+len(an.Gaps)*gapWork > maxWork+gapWork {
					t.Errorf("%s: %d commands, %d effects, %d gaps", name, len(an.Commands), len(an.Effects), len(an.Gaps))
				}
				for i := range an.Gaps {
					if strings.Contains(an.Gaps[i].Why, "parser failed") {
						t.Errorf("%s: a panic was recovered", name)
					}
				}
			}
		}
	}
}

// No limit opens: where something was left out, a gap hides the program.
func TestLimitsHide(t *testing.T) {
	for _, src := range []string{
		strings.Repeat("eval ", 5000), strings.Repeat("xargs ", 30000) + "rm a", "ls " + strings.Repeat(">a ", 30000),
		strings.Repeat("a;", 3000) + "rm x", "rm " + strings.Repeat("a ", 5000), strings.Repeat("env ", 100) + "rm x",
		strings.Repeat("cat */.e*;", 1200), "ssh h " + strings.Repeat("env ", 20000) + "rm x", "find . -exec=x",
		strings.Repeat("cd a/b/c/d/e/f/g/h;rm b;", 1900), "sh -c '" + strings.Repeat("rm a;", 30000) + "'",
	} {
		an := AnalyzeCommand(src, testOptions())
		hides := false
		for i := range an.Gaps {
			hides = hides || an.Gaps[i].Hides
		}
		if an.ReadOnly || an.Full || !hides {
			t.Errorf("%.40q...: read-only %v, full %v, hides %v", src, an.ReadOnly, an.Full, hides)
		}
	}
}

// BenchmarkHostile is one pass over the hostile commands; it reports the processor time of the
// worst.
func BenchmarkHostile(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	opts := testOptions()
	for b.Loop() {
		worst, which := time.Duration(0), ""
		for name, src := range hostile(1<<20 - 64) {
			start := cpuTime()
			AnalyzeCommand(src, opts)
			if d := cpuTime() - start; d > worst {
				worst, which = d, name
			}
		}
		b.ReportMetric(float64(worst)/1e6, "worst-ms")
		b.Logf("the worst is %q", which)
	}
}

// Whether a word says that a command follows is asked of each word, and of a call with very many it is taken for said:
// what they may run is not missed, and the answer stays as small as the budget says.
func TestServiceWords(t *testing.T) {
	for _, n := range []int{1, 60, 62, 63, 64, 65, 300, 3000, 30000} {
		for _, run := range []string{"run rm y", "rm y"} {
			an := AnalyzeCommand("heroku "+strings.Repeat("x ", n)+run, testOptions())
			if told := run != "rm y" || n > 64; an.ReadOnly || told && len(an.Gaps) == 0 && len(an.Commands[0].Tails) == 0 {
				t.Errorf("%d words before %s: only reads is %v, and nothing may run", n, run, an.ReadOnly)
			}
			if len(an.Commands)*commandWork+len(an.Effects)*effectWork+len(an.Gaps)*gapWork > maxWork+gapWork {
				t.Errorf("%d words before %s: %d commands, %d effects, %d gaps", n, run, len(an.Commands), len(an.Effects), len(an.Gaps))
			}
		}
	}
}
