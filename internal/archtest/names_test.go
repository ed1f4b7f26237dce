package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// quotedPath is a place of this repository in backquotes: `internal/floor`, `gate/source.go`, `effect/kb.Find`.
	quotedPath = regexp.MustCompile("`((?:agent|approval|client|cmd|dialect|effect|gate|host|internal|lab|ledger|packaging|pattern|policy|sdk|shell)/[A-Za-z0-9_./-]*[A-Za-z0-9_])`")
	// quotedTest is the name of a test in backquotes: `TestFaces`.
	quotedTest = regexp.MustCompile("`(?:[a-z/]+\\.)?((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*)`")
	// standsFor is a word for any of several: `pairs-AGENT.jsonl.gz`.
	standsFor = regexp.MustCompile(`\b[A-Z]{4,}\b`)
	declared  = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)([A-Za-z_][A-Za-z0-9_]*)\b`)
)

// madeUp is the file that docs/contributing/subcommand.md writes as its example.
const madeUp = "internal/face/cli/whoami.go"

// TestDocumentsNameThings: the packages, files, functions and tests that a document names in backquotes are there, so
// that no page is older than the code.
func TestDocumentsNameThings(t *testing.T) {
	root := moduleRoot(t)
	names, tests := declaredNames(t, root)
	seen := 0
	walks, err := filepath.Glob(filepath.Join(root, "docs", "contributing", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	docs := append(documents(t, root), "CONTRIBUTING.md")
	for _, name := range walks {
		docs = append(docs, "docs/contributing/"+filepath.Base(name))
	}
	for _, rel := range docs {
		if strings.HasPrefix(rel, "docs/frameworks/") {
			continue // they name files of other systems
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(rel)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quotedPath.FindAllStringSubmatch(string(text), -1) {
			if seen++; !isThere(root, m[1], names) && m[1] != madeUp {
				t.Errorf("%s names `%s`, which is not there", rel, m[1])
			}
		}
		for _, m := range quotedTest.FindAllStringSubmatch(string(text), -1) {
			if seen++; !tests[m[1]] {
				t.Errorf("%s names the test %s, which is not there", rel, m[1])
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d names are found in the documents", seen)
	}
	for name, want := range map[string]bool{"internal/archtest": true, "gate/source.go": true, "gate/source.go.Files": false, "gate.Files": true, "gate.Nothing": false,
		"internal/archtest.TestDocumentsNameThings": true, "internal/archtest.TestNothing": false, "internal/nothing": false, "lab/agents/testdata/pairs-AGENT.jsonl.gz": true, "lab/agents/testdata/pears-AGENT": false} {
		if isThere(root, name, names) != want {
			t.Errorf("%s: there %t", name, !want)
		}
	}
}

// isThere tells whether a place exists: a file, a directory, or a name in the package before its first dot.
func isThere(root, place string, names map[string]map[string]bool) bool {
	pattern := filepath.Join(root, filepath.FromSlash(standsFor.ReplaceAllString(place, "*")))
	if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
		return true
	}
	dir, last := path.Split(place)
	pkg, name, dotted := strings.Cut(last, ".")
	if !dotted {
		return false
	}
	name, _, _ = strings.Cut(name, ".") // `internal/face/server.Options.Console` by its type
	return names[dir+pkg][name]
}

// declaredNames returns the names that Go files declare, by directory, and those of all tests.
func declaredNames(t *testing.T, root string) (names map[string]map[string]bool, tests map[string]bool) {
	names, tests = map[string]map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && name != root):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, filepath.Dir(name))
		dir := filepath.ToSlash(rel)
		if names[dir] == nil {
			names[dir] = map[string]bool{}
		}
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[dir][string(m[1])] = true
			if strings.HasSuffix(name, "_test.go") {
				tests[string(m[1])] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, tests
}
