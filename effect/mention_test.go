package effect

import (
	"slices"
	"testing"
)

// The parts of a word that may be a file.
func TestPieces(t *testing.T) {
	for word, want := range map[string][]string{
		"a": {"a"}, "y=%a": {"a"}, "s,^,a/,": {"a/"}, `--transform=s/^/a\/b\//`: {"a/b/"}, "--from-file=a": {"a"}, "src=a": {"src", "a"}, "@a": {"a"}, "f@a": {"f", "a"}, "-oa": {"a"}, "-oG.git/x": {".git/x"}, "-ir!a": {"a"}, "a#x": {"a"}, "x:a,b": {"x", "a", "b"},
	} {
		got := Pieces(word, false)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q has no %q", word, got, w)
			}
		}
	}
}

// A place of which nothing is said may name a file, a command or a host; the only operand of yq may be a file.
func TestMentionsOfUnknownPlaces(t *testing.T) {
	for _, c := range []string{
		"yq -p props .env", "grep --${X:-file}=.env x", "rpm -qip .env", "dpkg-deb -c .env",
		"nim c -o:.env x.nim",
	} {
		an := AnalyzeCommand(c, testOptions())
		if cmd := &an.Commands[0]; len(cmd.Mentions) == 0 {
			t.Errorf("%s: nothing is mentioned", c)
		}
	}
	for _, c := range []string{"jq .env f.json", "yq .env f.yml", "basename .env", "black .env"} {
		if cmd := &AnalyzeCommand(c, testOptions()).Commands[0]; len(cmd.Mentions) > 0 {
			t.Errorf("%s mentions %v", c, cmd.Mentions)
		}
	}
	for _, c := range []string{"mutt -e '$(rm x)'", "envconsul -unknown x rm y", "gh config set pager 'rm x'", "restic -o c='rm x' snapshots"} {
		if cmd := &AnalyzeCommand(c, testOptions()).Commands[0]; len(cmd.Tails) == 0 {
			t.Errorf("%s: nothing may be run", c)
		}
	}
	for c, host := range map[string]string{"dig @h.example x": "h.example", "getent hosts h.example": "h.example",
		"resolvectl query h.example": "h.example", "ntpdate h.example": "h.example", "finger h.example": "h.example"} {
		connects := func(e Effect) bool { return e.Kind == Connect && e.Host == host }
		if an := AnalyzeCommand(c, testOptions()); !slices.ContainsFunc(an.Effects, connects) {
			t.Errorf("%s does not connect to %s: %+v", c, host, an.Effects)
		}
	}
	for _, c := range []string{"cp /bin/rm d/x", "ln -s /usr/bin/rm x", "echo 'execute_process(COMMAND /bin/rm x)' > p/CMakeLists.txt; cmake p"} {
		if an := AnalyzeCommand(c, testOptions()); len(an.Written) == 0 {
			t.Errorf("%s: nothing may be run later", c)
		}
	}
}
