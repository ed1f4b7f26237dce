package cursor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/dialect/claudecode"
	"github.com/obstat/obstat/internal/format/textedit"
)

// Dialect reads Cursor's permissions. The zero value is ready for use.
type Dialect struct{}

var _ dialect.Layered = Dialect{}

// The files of a project, and the user's of the command line program.
const (
	fileCLI   = ".cursor/cli.json"
	fileLists = ".cursor/permissions.json"
	fileUser  = ".cursor/cli-config.json"
)

// Name returns "cursor".
func (Dialect) Name() string { return "cursor" }

// Info says where a project keeps its permissions. A denial of any layer stands.
func (Dialect) Info() dialect.Info {
	return dialect.Info{Files: []string{fileLists, fileCLI}, Default: fileCLI, Agents: []string{"cursor"}, DenyWins: true,
		Sees: claudecode.Dialect{}.Info().Sees}
}

// Places returns where Cursor reads permissions, lowest precedence first.
func (Dialect) Places(w *dialect.Where) ([]dialect.Place, error) {
	var p dialect.Places
	p.Add(dialect.LayerUser, w.Home, fileLists, fileUser)
	p.Add(dialect.LayerProject, w.Dir, fileLists, fileCLI)
	return p, nil
}

// Detect knows the files by their place, and those of dotfiles, `cursor/cli.json` and `dot_cursor/cli.json`; nobody but
// Cursor has a cli-config.json.
func (Dialect) Detect(f *dialect.File) dialect.Confidence {
	base := path.Base(f.Slashed())
	dir := strings.TrimPrefix(strings.TrimPrefix(path.Base(path.Dir(f.Slashed())), "dot_"), ".")
	own := slices.Contains([]string{fileCLI, fileLists, fileUser}, ".cursor/"+base) && dir == "cursor"
	return claudecode.Settings(f, textedit.JSONC, own || base == path.Base(fileUser))
}

// Speaks tells whether a file has a list of rules.
func (Dialect) Speaks(f *dialect.File) bool {
	root, _ := textedit.JSONC.Parse(f.Data)
	said := func(l claudecode.List) bool { return root.Get(l.Key[0]) != nil }
	return root == nil || root.Get("permissions") != nil || slices.ContainsFunc(family.More, said)
}

// family is how Cursor differs from Claude Code.
var family = claudecode.Family{
	Name: "cursor", Format: textedit.JSONC, Rule: rule, Above: true,
	More: []claudecode.List{
		{Key: []string{"terminalAllowlist"}, Verdict: obstat.Allow, Form: called("Shell")},
		{Key: []string{"mcpAllowlist"}, Verdict: obstat.Allow, Form: called("Mcp")},
	},
}

func called(tool string) func(string) string {
	return func(entry string) string { return tool + "(" + entry + ")" }
}

// Load reads the files: rules of all layers together.
func (Dialect) Load(in *dialect.Input) (*obstat.Program, obstat.Errors) { return family.Load(in) }

// Asks returns the questions that Claude Code has built in, which hold here as well.
func (Dialect) Asks() []string { return claudecode.Dialect{}.Asks() }

// Library returns the view of this dialect's Programs.
func (Dialect) Library() *obstat.Library { return claudecode.Dialect{}.Library() }

// rule writes one of Cursor's permissions in Claude Code's notation.
func rule(text string, v obstat.Verdict) (out []string, why string) {
	tool, content, ok := strings.Cut(strings.TrimSpace(text), "(")
	content, closed := strings.CutSuffix(content, ")")
	if ok && !closed || strings.TrimSpace(tool) == "" {
		return nil, fmt.Sprintf("%q is not Tool(content)", text)
	}
	content = strings.TrimSpace(content)
	whole := strings.Trim(content, "*") == "" || content == "*:*"
	switch strings.ToLower(tool) {
	case "shell":
		if whole {
			return []string{"Bash"}, ""
		}
		return commands(content, v), ""
	case "read", "grep", "glob":
		return files("Read", content, whole, v), ""
	case "write", "edit":
		return files("Edit", content, whole, v), ""
	case "webfetch":
		if whole {
			return []string{"WebFetch"}, ""
		}
		return []string{"WebFetch(domain:" + strings.TrimPrefix(content, "domain:") + ")"}, ""
	case "mcp":
		return servers(content, whole, v)
	}
	return nil, fmt.Sprintf("Cursor has no permission %s; there are Shell, Read, Write, WebFetch and Mcp", tool)
}

// commands returns the rules of `Shell(git)`, which is about any git command, of `Shell(git:push *)`, about those
// arguments, and of more words than one, which people write like a beginning. A colon behind several words may also be
// part of the last, `npm run test:unit`: to deny either is to deny both.
func commands(content string, v obstat.Verdict) []string {
	base, args, colon := strings.Cut(content, ":")
	var out []string
	switch {
	case !colon:
		out = []string{content}
	case args == "" || strings.Trim(args, "*") == "":
		out = []string{base}
	case !strings.Contains(base, " "):
		out = []string{base + " " + args}
	case v == obstat.Allow:
		out = []string{content}
	default:
		out = []string{content, base + " " + args}
	}
	for i, c := range out {
		if !strings.HasSuffix(c, "*") {
			out[i] = c + " *"
		}
		out[i] = "Bash(" + out[i] + ")"
	}
	return out
}

// files returns the rule of a path or glob: from the workspace, or absolute. `Read(**)` allows the workspace and
// no more, as Cursor scopes relative paths; to deny it is to deny every file.
func files(tool, content string, whole bool, v obstat.Verdict) []string {
	switch {
	case whole && v == obstat.Allow:
		return []string{tool + "(./**)"}
	case whole:
		return []string{tool}
	}
	if path.IsAbs(content) {
		content = "/" + content
	}
	return []string{tool + "(" + content + ")"}
}

// servers returns the rule of `Mcp(server:tool)`, which people also write with a comma.
func servers(content string, whole bool, v obstat.Verdict) ([]string, string) {
	if whole {
		if v == obstat.Allow {
			return nil, "every tool of every server: name the servers, Mcp(server:*)"
		}
		return []string{"mcp__*"}, ""
	}
	server, tool, ok := strings.Cut(content, ":")
	if !ok {
		server, tool, ok = strings.Cut(content, ",")
	}
	server, tool = strings.TrimSpace(server), strings.TrimSpace(tool)
	if !ok || strings.Trim(tool, "*") == "" {
		return []string{"mcp__" + server}, ""
	}
	return []string{"mcp__" + server + "__" + tool}, ""
}
