package main

import (
	"reflect"
	"testing"
)

func texts(list []found) (out []string) {
	for _, f := range list {
		out = append(out, pieces(f.text)...)
	}
	return out
}

func TestSources(t *testing.T) {
	for _, c := range []struct {
		find func(string) []found
		text string
		want []string
	}{
		{inYAML, "steps:\n  - run: make ${{ matrix.x }}\n  - name: b\n    run: |\n" +
			"      a \\\n        b\n      # no\n      for f in x; do\n        c\n      done\n",
			[]string{"make x1", "a \\\n  b", "for f in x; do\n  c\ndone"}},
		{inYAML, "script:\n  - make\n  - 'go test'\n", []string{"make", "go test"}},
		{inYAML, "- run: dir\n  shell: pwsh\n", nil},
		{inMakefile, "V = 1\nall: x y\n\t@echo $(V) $@ $^ $$HOME\n\t-$(shell date) | z\n\t$(foreach x,y,z)\n",
			[]string{"echo 1 all x y $HOME", "$(date) | z"}},
		{inPackage, `{"scripts": {"a": "b c", "d": ["e", "@f"]}}`, []string{"b c", "e"}},
		{inMarkdown, "```sh\n$ a b\nout\n```\n```js\nx\n```\n```bash\nc <file>\nd\n```\n", []string{"a b", "d"}},
	} {
		if got := texts(c.find(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestPrograms(t *testing.T) {
	got := programs([]line{{command: "A=1 make x && sudo -E apt-get install b; rm c | (cd d && ./e)"},
		{command: "x=$(git log)"}})
	if want := []string{"./e", "apt-get", "cd", "git", "make", "sudo"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLinesAreReadAsWritten(t *testing.T) {
	l := line{"ok", "p", "f:1", "a \\\n\tb\\n"}
	got := l.String()
	if got != "ok\tp\tf:1\ta \\\\\\n\\tb\\\\n" || unescaper.Replace(escaper.Replace(l.command)) != l.command {
		t.Error(got)
	}
}
