package effect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/paths"
	"github.com/obstat/obstat/shell"
)

// A command may write a file and then run it: `echo 'rm v' > t.sh && sh t.sh`. What it writes
// there is judged as the file's commands where it is known, and is a gap where it is not. A copy
// of a program, or a link to one, is that program: `ln -s /bin/rm x; ./x v`.

// written is a file that the command writes, with the place of the shell command that does so.
type written struct {
	effect int
	script *shell.Script
	at     int
}

// started is a file that the command runs.
type started struct {
	file   Effect // a read of it
	words  []shell.Word
	f      frame
	cmd    int
	span   shell.Span
	reader string // the program that reads it as code, "" if it is run by itself
}

// wrote notes which files the effects from a place on write.
func (a *analyzer) wrote(from int, f *frame) {
	if n := len(a.writes); n > 0 {
		from = max(from, a.writes[n-1].effect+1)
	}
	for i := from; i < len(a.an.Effects); i++ {
		if e := &a.an.Effects[i]; e.Kind == Write && !e.Unnamed && !e.Recursive && e.Where == "" && e.Raw != "" {
			a.writes = append(a.writes, written{i, f.script, f.at})
		} else if e.Kind == Write && e.Recursive && e.Program == "sed" {
			a.edits = append(a.edits, i)
		}
	}
}

// starts notes a file that is run.
func (a *analyzer) starts(w *shell.Word, words []shell.Word, reader string, cmd int, f *frame) {
	if f.where != "" && len(f.mounts) == 0 {
		return
	}
	e := Effect{Kind: Read, Raw: w.Text, Where: f.where}
	a.place(&e, w, f)
	a.started = append(a.started, started{e, words, *f, cmd, f.span(w.Span), reader})
}

// alsoStarts notes a file that a word stands for which names code, if the command writes any.
func (c *call) alsoStarts(file string, w *shell.Word) {
	if len(c.a.writes) > 0 {
		c.a.starts(&shell.Word{Text: file, Raw: w.Raw, Known: true, Span: w.Span}, c.words, c.name, c.cmd, &c.f)
	}
}

// linked is the file system with the links that the command itself makes: of
// `ln -s . x; cat x/.env` the second is about .env.
type linked struct {
	paths.FS
	links map[string]string
}

func (l *linked) Readlink(p string) (string, bool) {
	if to, ok := l.links[p]; ok {
		return to, true
	}
	if l.FS == nil {
		return "", false
	}
	return l.FS.Readlink(p)
}

// List and IsFile pass on what the file system below can tell.
func (l *linked) List(dir string) (links, dirs []string, all bool) {
	all = true
	if fs, ok := l.FS.(paths.Lister); ok {
		links, dirs, all = fs.List(dir)
	}
	for p := range l.links {
		if path.Dir(p) == dir {
			links = append(links, path.Base(p))
		}
	}
	return links, dirs, all
}

func (l *linked) IsFile(p string) bool {
	fs, ok := l.FS.(paths.Filer)
	return ok && fs.IsFile(p)
}

// linksTo notes the links that `ln`, `cp -l` or a mount makes: the last operand is a name for each of the others, or a
// directory that they get one in.
func (c *call) linksTo(ops []int) {
	mount := c.name == "mount" && len(ops) == 2 // `mount --bind . /mnt`
	if !mount && (c.linked == 0 || c.name != "ln" && c.name != "cp") || len(ops) == 0 || c.f.where != "" || c.a.opts.FS == nil {
		return
	}
	l, ok := c.a.opts.FS.(*linked)
	if !ok {
		l = &linked{FS: c.a.opts.FS, links: map[string]string{}}
	}
	name := shell.Word{Text: ".", Known: true}
	if len(ops) > 1 {
		name, ops = c.words[ops[len(ops)-1]], ops[:len(ops)-1]
	}
	at := c.a.resolve(c.f.dir, &name).Abs
	for _, i := range ops {
		to := c.words[i]
		if at == "" || !name.Known || !to.Known || !c.a.afford(len(l.links)) {
			return
		}
		p := at
		if len(ops) > 1 || !mount && l.FS.IsDir(at) {
			p = path.Join(at, path.Base(to.Text))
		}
		if to.Tilde || c.args[0].role != roleList { // a hard link is found from where the command runs
			to.Text = c.a.resolve(c.f.dir, &to).Abs
		}
		l.links[p] = to.Text
	}
	c.a.opts.FS = l
}

// runWritten analyses the files that were both written and run.
func (a *analyzer) runWritten() {
	a.writes = slices.DeleteFunc(a.writes, func(w written) bool { return a.keeps(&a.an.Effects[w.effect]) })
	if len(a.writes)+len(a.edits) == 0 {
		return
	}
	a.installed()
	at := 0
	for i := 0; (i < len(a.started) || at < len(a.an.Commands)) && !a.full; {
		if i == len(a.started) {
			a.runImplied(at) // of what was typed, and of what that runs
			at++
			continue
		}
		s, writes := a.started[i], len(a.writes)
		a.runFile(&s, &s.file, 0)
		if i++; len(a.writes) > writes { // `python3 gen.py; sh x.sh`, where gen.py writes x.sh
			i, at = 0, 0
		}
	}
	a.mayRunWritten()
}

// keeps reports whether a write leaves what the file means.
func (a *analyzer) keeps(e *Effect) bool { return e.Formatted() || keepsContent(a.wordsOf(e)) }

// installed notes the programs that are run by name and were put where programs are found.
func (a *analyzer) installed() {
	for _, w := range a.writes {
		p := a.an.Effects[w.effect].Path
		if dir := path.Base(path.Dir(p)); dir != "bin" && dir != "sbin" && dir != ".bin" && dir != "shims" && dir != "tools" {
			continue
		}
		for i := range a.an.Commands {
			if c := &a.an.Commands[i]; c.Path == path.Base(p) {
				if shell.PrintsSetup(c.Words) { // and what it prints is run
					a.gap(DynamicCode, "runs a file that the command itself writes", c.Span, i)
				}
				f := frame{dir: c.Dir, via: c.Via, owner: i, pin: c.Span, pinned: true}
				a.started = append(a.started, started{Effect{Kind: Read, Raw: p, Path: p}, c.Words, f, i, c.Span, ""})
			}
		}
	}
}

// runImplied analyses the files that a command reads as code without being told, as make its Makefile.
func (a *analyzer) runImplied(i int) {
	c := a.an.Commands[i]
	s := started{words: c.Words, f: frame{dir: c.Dir, via: c.Via, owner: i, pin: c.Span, pinned: true}, cmd: i, span: c.Span}
	for file := range strings.FieldsSeq(codeOf(c.Program)) {
		if s.reader = c.Program; s.reader == "git" && !strings.HasSuffix(file, "config") {
			s.reader = "sh" // its hooks
		}
		s.file = Effect{Kind: Read, Raw: file}
		if p := a.resolve(c.Dir, &shell.Word{Text: file, Known: true, Tilde: true}); c.Dir != "" || file[0] == '~' {
			s.file.Path, s.file.Real = p.Abs, p.Real
		}
		a.runFile(&s, &s.file, 0)
	}
}

// codeOf returns the files of a project that hold what a program runs.
func codeOf(program string) string {
	if program == "" || !strings.Contains(codeFiles, program) {
		return ""
	}
	for line := range strings.SplitSeq(codeFiles, "\n") {
		names, files, _ := strings.Cut(line, ": ")
		for name := range strings.FieldsSeq(names) {
			if name == program {
				return files
			}
		}
	}
	return ""
}

// codeFiles are the files that programs take for code, or for settings that name code.
const codeFiles = `make gmake: Makefile makefile GNUmakefile
npm pnpm yarn bun npx: package.json .npmrc ~/.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml
git: .git/config ~/.gitconfig ~/.config/git/config .git/hooks/pre-commit .git/hooks/prepare-commit-msg .git/hooks/commit-msg .git/hooks/post-commit .git/hooks/pre-push .git/hooks/post-checkout .git/hooks/post-merge .git/hooks/pre-merge-commit .git/hooks/pre-rebase .git/hooks/post-rewrite .git/hooks/post-index-change .husky/pre-commit .husky/prepare-commit-msg .husky/commit-msg .husky/post-commit .husky/pre-push .husky/post-checkout .husky/post-merge .githooks/pre-commit .githooks/prepare-commit-msg .githooks/commit-msg .githooks/post-commit .githooks/pre-push .githooks/post-checkout .githooks/post-merge .gitmodules .pre-commit-config.yaml lefthook.yml
just: justfile .justfile Justfile
rake: Rakefile
task go-task: Taskfile.yml Taskfile.yaml
pytest py.test tox nox: conftest.py tox.ini noxfile.py pytest.ini
cargo: build.rs .cargo/config.toml .cargo/config ~/.cargo/config.toml
gradle gradlew: build.gradle build.gradle.kts settings.gradle init.gradle
mvn mvnw: pom.xml
cmake ctest: CMakeLists.txt
meson: meson.build
scons: SConstruct
pip pip3 uv: setup.py
invoke inv: tasks.py
fab: fabfile.py
doit: dodo.py
gulp: gulpfile.js
grunt: Gruntfile.js
eslint: eslint.config.js eslint.config.mjs .eslintrc.js
prettier: prettier.config.js .prettierrc.js
jest: jest.config.js
mocha: .mocharc.js .mocharc.cjs .mocharc.json
vite vitest: vite.config.js vite.config.ts vitest.config.ts
webpack: webpack.config.js
rollup: rollup.config.js
deno: deno.json deno.jsonc
composer: composer.json
mix: mix.exs
bundle bundler: Gemfile
vagrant: Vagrantfile
pre-commit: .pre-commit-config.yaml
lefthook: lefthook.yml
direnv: .envrc
mise: mise.toml .mise.toml
docker-compose podman-compose: docker-compose.yml compose.yaml
ansible-playbook ansible: ansible.cfg
terraform tofu: main.tf
tmux: .tmux.conf ~/.tmux.conf
gdb: .gdbinit ~/.gdbinit
lldb: .lldbinit ~/.lldbinit
vim vi nvim ex view: .vimrc .exrc ~/.vimrc
bash: ~/.bashrc ~/.bash_profile ~/.bash_login ~/.profile
zsh: ~/.zshrc ~/.zshenv ~/.zprofile
sh dash ksh: ~/.profile
ssh scp sftp: ~/.ssh/config
psql: ~/.psqlrc
sqlite3: ~/.sqliterc
julia: startup.jl
perl: sitecustomize.pl
python python3: sitecustomize.py usercustomize.py`

// maxCopies is how often a copy of a copy is followed.
const maxCopies = 8

// runFile analyses what a file holds according to the writes to it.
func (a *analyzer) runFile(s *started, file *Effect, copies int) {
	if !a.afford(2 * len(a.writes)) {
		return
	}
	var text strings.Builder
	all, parts := true, 0
	for _, w := range a.writes {
		e := &a.an.Effects[w.effect]
		if !same(e, file) && !partOf(e, file) || a.keeps(e) {
			continue
		}
		words := a.wordsOf(e)
		parts++
		if from, ok := copiedFrom(words, e); ok && copies < maxCopies {
			a.runCopies(s, from, copies)
			continue
		}
		t, ok := a.textOf(&w, words)
		if ok = ok && (parts == 1 || w.script.Commands[w.at].Nest&shell.Uncertain == 0); !ok || file.Glob {
			all = false
			continue
		}
		text.WriteString(t)
	}
	switch {
	case parts == 0:
	case !all:
		a.gap(DynamicCode, "runs a file that the command itself writes", s.span, s.cmd)
	case text.Len() > 0:
		a.runText(s, text.String())
	}
}

// same reports whether two effects may be on the same file.
func same(e, file *Effect) bool {
	if e.Path == "" || file.Path == "" {
		return path.Base(e.Raw) == path.Base(file.Raw)
	}
	return e.Target().Meets(file.Target()) || or(e.Real, e.Path) == or(file.Real, file.Path)
}

// partOf reports whether a file may be one that split makes, whose names begin with what it is told.
func partOf(e, file *Effect) bool {
	return (e.Program == "split" || e.Program == "csplit") && e.Path != "" && strings.HasPrefix(file.Path, e.Path)
}

// wordsOf returns the words of the command that an effect comes from.
func (a *analyzer) wordsOf(e *Effect) []shell.Word {
	if e.Command < 0 || e.Command >= len(a.an.Commands) {
		return nil
	}
	return a.an.Commands[e.Command].Words
}

// keepsContent reports whether a program leaves what a file says alone, or makes it from the
// project's own files, as a compiler does.
func keepsContent(words []shell.Word) bool {
	if len(words) == 0 {
		return false
	}
	name, _ := programName(words[0].Text)
	if setsScripts(words) || name == "git" && slices.ContainsFunc(words[1:], func(w shell.Word) bool { return w.Text == "apply" || w.Text == "am" }) {
		return false
	}
	switch name {
	case "chmod", "chown", "chgrp", "touch", "mkdir", "setfacl", "git", "go", "cargo", "make", "ninja", "cmake", "rustc", "javac", "kotlinc", "swiftc",
		"tsc", "esbuild", "ld", "ar", "strip", "npm", "pnpm", "yarn", "gofmt", "shfmt", "rm", "mktemp", "tar", "unzip":
		return true
	}
	return isCompiler(name)
}

// isCompiler reports whether a program compiles C: `x86_64-linux-gnu-gcc-12`.
func isCompiler(name string) bool {
	for _, compiler := range [...]string{"gcc", "g++", "cc", "c++", "clang", "clang++"} {
		if name == compiler || strings.HasPrefix(name, compiler+"-") || strings.HasSuffix(name, "-"+compiler) {
			return true
		}
	}
	return false
}

// setsScripts reports whether npm and its kin are told to write a script into package.json:
// `npm pkg set scripts.x=rm`.
func setsScripts(words []shell.Word) bool {
	writes := false
	for i := 1; i < len(words); i++ {
		switch t := words[i].Text; {
		case t == "set-script":
			return true
		case t == "pkg":
			writes = true
		case writes && (!words[i].Known || strings.Contains(t, "scripts")):
			return true
		}
	}
	return false
}

// copiedFrom returns the files that a command makes a copy of, or a link to; ok is false if it does
// something else.
func copiedFrom(words []shell.Word, e *Effect) (from []shell.Word, ok bool) {
	if len(words) == 0 {
		return nil, false
	}
	name, _ := programName(words[0].Text)
	switch name {
	case "cp", "mv", "ln", "link", "install", "cat":
	default:
		return nil, false
	}
	for _, w := range words[1:] {
		if !isFlag(w.Text) && (w.Text != e.Raw || !w.Known || name == "cat") {
			from = append(from, w)
		}
	}
	return from, len(from) > 0
}

// runCopies analyses a file as the files that it was copied from.
func (a *analyzer) runCopies(s *started, from []shell.Word, copies int) {
	for i := range from {
		w := from[i]
		if !w.Known || w.Glob {
			a.gap(DynamicCode, "runs a file that the command itself writes", s.span, s.cmd)
			continue
		}
		e := Effect{Kind: Read, Raw: w.Text}
		a.place(&e, &w, &s.f)
		if strings.HasPrefix(e.Path, "/dev/") || strings.HasPrefix(e.Path, "/proc/") { // `install /dev/stdin x`
			a.gap(DynamicCode, "runs a file that the command itself writes", s.span, s.cmd)
			continue
		}
		if p := or(e.Real, e.Path); standardDir(path.Dir(p)) || standardDir(path.Dir(e.Path)) && e.Path != "" {
			if s.reader == "" {
				a.runAs(s.words, e.Path, s.cmd, &s.f)
			}
			continue
		}
		a.runFile(s, &e, copies+1)
	}
}

// runAs analyses words as the program at a path.
func (a *analyzer) runAs(words []shell.Word, program string, cmd int, f *frame) {
	in := f.inner(path.Base(words[0].Text), cmd)
	real := append([]shell.Word(nil), words...)
	real[0].Text, real[0].Raw, real[0].Known, real[0].Glob = program, program, true, false
	in.source = ""
	a.command(real, nil, &in)
}

// runText analyses the text of a file that is run.
func (a *analyzer) runText(s *started, text string) {
	reader := s.reader
	if first, _, _ := strings.Cut(text, "\n"); reader == "" {
		reader = "sh"
		if rest, ok := strings.CutPrefix(first, "#!"); ok {
			fields := strings.Fields(rest)
			reader = path.Base(strings.Join(fields[max(len(fields)-1, 0):], ""))
			if len(fields) > 1 && strings.HasPrefix(fields[1], "-") {
				reader = path.Base(fields[0])
			}
		}
	}
	switch reader {
	case "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash", "source", ".", "at", "batch":
	default:
		a.runCode(s, reader, text)
		return
	}
	if slices.Contains(a.ran, text) {
		return
	}
	a.ran = append(a.ran, text)
	if s.cmd >= 0 && s.cmd < len(a.an.Commands) {
		a.an.Commands[s.cmd].Wrapper = true
	}
	if (reader == "source" || reader == ".") && shell.StaysHere(s.file.Raw) {
		a.gap(DynamicCode, "sources a file that the command itself writes", s.span, s.cmd) // what follows may run elsewhere
	}
	in := s.f.inner(path.Base(s.words[0].Text), s.cmd)
	in.pin, in.pinned = s.span, true
	a.script(text, &in)
}

// textOf returns what a command writes into a file.
func (a *analyzer) textOf(w *written, words []shell.Word) (string, bool) {
	if w.script == nil || w.at >= len(w.script.Commands) || len(words) == 0 {
		return "", false
	}
	name, _ := programName(words[0].Text)
	switch e := &a.an.Effects[w.effect]; {
	case e.Tags.Has(Redirect) && (name == "echo" || name == "printf"):
		return printedText(words)
	case e.Tags.Has(Redirect) && name == "cat", name == "tee":
		c := &w.script.Commands[w.at]
		if c.Stdin >= 0 && c.Stdin < len(w.script.Commands) && !hasInput(c) {
			return printedText(w.script.Commands[c.Stdin].Words)
		}
		in, ok := inputOf(w.script, w.at)
		return in.Text + "\n", ok
	}
	return "", false
}

// hasInput reports whether a redirection says what the command reads.
func hasInput(c *shell.Command) bool {
	for i := range c.Redirects {
		if strings.HasPrefix(c.Redirects[i].Op, "<") {
			return true
		}
	}
	return false
}

// unescape puts in what printf, and some echo, make of the commonest escapes.
var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t")

// printedText is what echo or printf writes, with the ends of the lines.
func printedText(words []shell.Word) (string, bool) {
	if w, ok := printed(words); ok {
		if words[0].Text == "echo" && words[1].Text != "-n" || words[1].Text == `%s\n` {
			return w.Text + "\n", true
		}
		return w.Text, true
	}
	if len(words) != 2 || words[0].Text != "printf" || !words[1].Known {
		return "", false
	}
	text := unescape.Replace(words[1].Text)
	return text, !strings.ContainsAny(text, `\%`)
}
