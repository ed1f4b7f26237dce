package initial

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
)

// usual are scripts and targets that work inside the project, and final those that reach out of it.
var (
	usual = []string{"test", "tests", "unit", "build", "lint", "check", "typecheck", "type-check", "types", "format",
		"fmt", "vet", "compile", "generate", "coverage", "bench", "docs", "all", "dev", "start"}
	final = []string{"deploy", "release", "publish", "ship", "push", "upload", "migrate", "install", "uninstall",
		"clean", "prod", "production"}
)

// Look returns the rules that fit a project, by the files at its top. A file that cannot be read
// adds nothing.
func Look(dir fs.FS) (out []Line) {
	for _, look := range []func(fs.FS) []Line{node, makefile, languages} {
		out = append(out, look(dir)...)
	}
	return out
}

// maxFile bounds the files that are read of a project.
const maxFile = 1 << 20

func readFile(dir fs.FS, name string) []byte {
	st, err := fs.Stat(dir, name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil
	}
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil
	}
	return data
}

func has(dir fs.FS, names ...string) string {
	for _, n := range names {
		if st, err := fs.Stat(dir, n); err == nil && st.Mode().IsRegular() {
			return n
		}
	}
	return ""
}

// words are characters of a script's name that need no quotes.
const words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:."

// node returns rules for the scripts of package.json.
func node(dir fs.FS) (out []Line) {
	data := readFile(dir, "package.json")
	root, problems := jsonx.Parse(data, jsonx.Options{})
	if data == nil || tree.Fatal(problems) {
		return nil
	}
	manager := "npm"
	for file, name := range map[string]string{"yarn.lock": "yarn", "pnpm-lock.yaml": "pnpm", "bun.lockb": "bun",
		"bun.lock": "bun"} {
		if has(dir, file) != "" {
			manager = name
		}
	}
	if !root.Get("scripts").Is(tree.Object) {
		return nil
	}
	for _, m := range root.Get("scripts").Members {
		run := manager + " run " + m.Key
		if m.Key == "test" && manager == "npm" {
			out = append(out, Line{List: "allow", Sentence: "run npm test", Why: "Scripts of package.json."})
		}
		out = append(out, byName(m.Key, run, "Scripts of package.json.")...)
	}
	return out
}

// byName returns a rule for a script or target of that name: those that work inside the project are
// allowed, those that reach out of it are asked about, and others are left to the first ask.
func byName(name, command, why string) []Line {
	first, _, _ := strings.Cut(strings.ToLower(name), ":")
	switch {
	case strings.Trim(name, words) != "" || name == "":
		return nil
	case slices.ContainsFunc(final, func(f string) bool { return strings.Contains(strings.ToLower(name), f) }):
		return []Line{{List: "ask", Sentence: "run " + command, Why: why}}
	case slices.Contains(usual, first):
		return []Line{{List: "allow", Sentence: "run " + command, Why: why}}
	}
	return nil
}

// makefile returns rules for the targets of a Makefile.
func makefile(dir fs.FS) (out []Line) {
	name := has(dir, "GNUmakefile", "makefile", "Makefile")
	if name == "" {
		return nil
	}
	target := regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.-]*)\s*:([^=]|$)`)
	var seen []string
	for line := range strings.Lines(string(readFile(dir, name))) {
		m := target.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || slices.Contains(seen, m[1]) {
			continue
		}
		seen = append(seen, m[1])
		out = append(out, byName(m[1], "make "+m[1], "Targets of the "+name+".")...)
	}
	return out
}

// languages returns rules for the tools of the project's languages.
func languages(dir fs.FS) (out []Line) {
	add := func(why string, names ...string) {
		for _, n := range names {
			out = append(out, Line{List: "allow", Sentence: "run " + n, Why: why})
		}
	}
	if has(dir, "go.mod", "go.work") != "" {
		add("Go: go.mod.", "go build", "go test", "go vet", "go fmt", "go list", "go doc", "go mod tidy", "gofmt")
	}
	if has(dir, "Cargo.toml") != "" {
		add("Rust: Cargo.toml.", "cargo build", "cargo test", "cargo check", "cargo clippy", "cargo fmt")
		out = append(out, Line{List: "ask", Sentence: "run cargo publish", Why: "Rust: Cargo.toml."})
	}
	if f := has(dir, "pyproject.toml", "setup.py", "requirements.txt"); f != "" {
		add("Python: "+f+".", "pytest", "python -m pytest", "python3 -m pytest", "ruff", "mypy", "black")
		if has(dir, "uv.lock") != "" {
			add("Python: "+f+".", "uv run pytest", "uv sync")
		}
	}
	if has(dir, "Gemfile") != "" {
		add("Ruby: Gemfile.", "bundle exec rspec", "bundle exec rake test", "bundle exec rubocop")
	}
	if f := has(dir, "pom.xml"); f != "" {
		add("Java: pom.xml.", "mvn test", "mvn verify", "mvn compile")
	}
	if f := has(dir, "build.gradle", "build.gradle.kts"); f != "" {
		add("Java: "+f+".", "./gradlew test", "./gradlew build", "gradle test", "gradle build")
	}
	return out
}
