package effect

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/effect/internal/git"
	"github.com/obstat/obstat/effect/internal/search"
	"github.com/obstat/obstat/effect/kb"
)

// toy is a knowledge base of its own: an interpreter, a lister and a selection that no machine has.
const toy = `
snek snek3
	does read args script(/main.snek) text* stdin code(Snek) style stop
	flags -v,--version:help -e=code(Snek):args(text*) -m=module(.snek)
sniff
	does read args list* flags --named= --under --shout
gobble
	does delete(what it is given) args delete* flags -q
feed
	does read args run+ style stop
!lister sniff
	prints always refuses --shout name --named or --either
!selects firstfew
	letters k numbers
!verbs
	gulp
!env bends the snake
	SNEK_*
`

func analyzeToy(t *testing.T, cmd string) *Analysis {
	t.Helper()
	a := newAnalyzer(testOptions())
	a.dict = &dictionary{find: kb.FindIn(toy)}
	a.an.Source, a.an.Tool = cmd, "shell"
	a.script(cmd, &frame{dir: a.opts.Dir, owner: -1})
	return a.finish()
}

// An interpreter and a lister are lines of text: nothing in Go knows these.
func TestToyKnowledge(t *testing.T) {
	for _, tt := range []struct{ cmd, want string }{
		{"snek a.snek", "code a.snek"},
		{"snek -e 'x'", "code x"},
		{"echo x", "gap unknown program"},
		{"snek3 --version", "read-only"},
		{"sniff . --named '*.o'", "read-only"},
		{"gobble $(sniff lib --named '*.o')", "delete lib/*.o"},
		{"gobble $(sniff lib --named '*.o' --shout)", "gap dynamic operand"},
		{"gobble $(sniff lib --named '*.o' | firstfew -k 3)", "delete lib/*.o"},
		{"gobble $(sniff lib --named '*.o' | other -k 3)", "gap dynamic operand"},
		{"sniff src | feed gobble", "delete src/..."},
		{"SNEK_PATH=x snek a.snek", "gap environment"},
	} {
		an := analyzeToy(t, tt.cmd)
		var got []string
		if an.ReadOnly {
			got = append(got, "read-only")
		}
		for i := range an.Effects {
			e := &an.Effects[i]
			at, _ := strings.CutPrefix(e.Path, "/home/user/project/")
			switch {
			case e.name != "":
				at += "/" + e.name
			case e.Recursive:
				at += "/..."
			case e.Path == "":
				at = e.Raw
			}
			got = append(got, e.Kind.String()+" "+at)
		}
		for i := range an.Gaps {
			got = append(got, "gap "+an.Gaps[i].Kind.String())
		}
		if !slices.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q among them", tt.cmd, got, tt.want)
		}
	}
}

// A patch whose text is known changes the files that it names, and no others.
func TestPatchedFiles(t *testing.T) {
	const patch = "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	for cmd, named := range map[string]bool{
		"git apply <<'E'\n" + patch + "E":                                    true,
		"patch -p1 <<'E'\n" + patch + "E":                                    true,
		"cat > p.diff <<'E'\n" + patch + "E\ngit apply p.diff":               true,
		"patch <<'E'\n" + patch + "E":                                        false, // how much is taken off is not said
		"git apply --directory=x <<'E'\n" + patch + "E":                      false,
		"cat > p.diff <<'E'\n" + patch + "E\ntar xf t.tar; git apply p.diff": false,
		"git apply p.diff":                                                   false,
	} {
		an := AnalyzeCommand(cmd, testOptions())
		at, unnamed := false, false
		for i := range an.Effects {
			e := &an.Effects[i]
			program := e.Program == "git" || e.Program == "patch"
			at = at || program && e.Kind == Write && e.Path == "/home/user/project/x.go"
			unnamed = unnamed || program && e.Unnamed && e.Tags.Has(Contents)
		}
		if at != named || unnamed == named {
			t.Errorf("%q: x.go is named: %v, others may be: %v", cmd, at, unnamed)
		}
	}
}

// Every table of the knowledge base is one that code asks for, and is understood; a wrong word has its line.
func TestTablesCompile(t *testing.T) {
	asked := tablesAsked(t)
	eachBlock(t, func(file string, b *kb.Block) {
		if !kb.Special(b.Head) || b.Head[0] == '@' {
			return
		}
		var err error
		switch table, _, _ := strings.Cut(b.Head, " "); {
		case table == "!lister" || table == "!selects" || table == "!column":
			_, err = search.Parse(b.Body)
		case table == "!git-shows":
			_, err = git.ParseShows(b.Body)
		case !asked[table]:
			t.Errorf("%s:%d: no code asks for the table %s", file, b.Line, table)
		}
		if err != nil {
			t.Errorf("%s:%d: %v", file, errorLine(b.Line, err), err)
		}
	})
	_, err := search.Parse("\tprints always\n\tnosuch -x\n")
	if err != nil {
		t.Errorf("a word of a section is taken for a keyword: %v", err)
	}
	_, err = search.Parse("\t-x\n\tprints always\n")
	if err == nil || errorLine(10, err) != 11 {
		t.Errorf("%v at line %d, want one at 11", err, errorLine(10, err))
	}
}

// tablesAsked returns the tables that the module's code names, as "!sinks" in `kb.Table("!sinks")`.
func tablesAsked(t *testing.T) map[string]bool {
	t.Helper()
	asked, name := map[string]bool{}, regexp.MustCompile(`"(![a-z-]+)[ "]`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range name.FindAllSubmatch(source, -1) {
			asked[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return asked
}
