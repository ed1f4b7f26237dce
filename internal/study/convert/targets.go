package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/study/diff"
)

// Targets returns the languages that a policy can be exported to, by the agent, each with its dialect's name.
// Tools that change nothing outside of the agent (lists of tasks, help) are left out of Tools.
func Targets() map[string]Target {
	lists := map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Ask: "ask", obstat.Deny: "deny"}
	list := func(key string) []any { return []any{"permissions", key} }
	return map[string]Target{
		"claude-code": {Name: "claudecode", File: ".claude/settings.json",
			Keys:   [][]any{list("allow"), list("ask"), list("deny")},
			Beside: [][]any{list("defaultMode"), list("additionalDirectories")},
			Tools:  strings.Fields("Bash PowerShell Read Edit Write NotebookEdit Glob Grep WebFetch WebSearch Skill Task"),
			Rules:  claudeRules, Close: claudeClose, Text: permissionsText(lists), Words: true, Refuses: claudeRefuses,
			Command: func(text string) string { return "Bash(" + text + ")" }},
		"codex": {Name: "codex", File: ".codex/rules/default.rules", Rules: codexRules, Text: codexText, Words: true,
			Tools: strings.Fields("shell exec_command apply_patch")},
		"cursor": {Name: "cursor", File: ".cursor/cli.json", Rules: cursorRules,
			Keys:  [][]any{list("allow"), list("deny")},
			Tools: strings.Fields("Shell Read Write Delete Grep Glob LS WebFetch"),
			Text:  permissionsText(map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Deny: "deny"})},
		"gemini": {Name: "gemini", File: ".gemini/policies/obstat.toml", Tools: geminiTools, Refuses: geminiRefuses,
			Rules: geminiRules,
			Close: func(r *diff.Region) []string { return []string{geminiTool(r.Call.Tool)} }, Text: geminiText,
			Words: true, Command: geminiCommand, Paths: geminiList},
		"opencode": {Name: "opencode", File: "opencode.json", Keys: [][]any{{"permission"}},
			Beside: [][]any{{"agent"}, {"mode"}, {"tools"}}, Options: map[string]string{"agent": "build"},
			Tools: strings.Fields("bash read edit write patch glob grep webfetch websearch skill task"),
			Rules: opencodeRules, Text: opencodeText, Words: true,
			Command: func(text string) string { return "bash\t" + text }},
	}
}

// ownTool returns the agent's tool for one that a sentence names, `google_web_search` for `WebSearch`; a server's
// tool is itself, and "" is none.
func ownTool(tools []string, name string) string {
	if strings.HasPrefix(name, "mcp__") || slices.Contains(tools, name) {
		return name
	}
	of, known := effect.Lookup(name)
	i := slices.IndexFunc(tools, func(t string) bool {
		o, _ := effect.Lookup(t)
		return known && o.Canonical == of.Canonical
	})
	if i < 0 {
		return ""
	}
	return tools[i]
}

// isPath tells whether a target is a path or a name of files, and not a place with a name of its own.
func isPath(target string) bool {
	return strings.ContainsAny(target, "./*~") && !strings.Contains(target, " ")
}

// claudeRefuses: the tool that fetches takes nothing but an address.
func claudeRefuses(c *obstat.Call) bool {
	t, _ := effect.Lookup(c.Tool)
	return t.Canonical == "fetch" && !strings.Contains(string(c.Input), "://")
}

// claudeRules writes a target in Claude Code's notation, `Bash(git push *)`. A denied command is denied to PowerShell
// as well, and deleting is writing where the target is a path: a rule about all files would stand in every edit's way.
func claudeRules(v obstat.Verdict, verb, target string) (out []string) {
	switch verb {
	case "run":
		content := claudeCommand(target)
		if content == "" {
			return nil
		}
		if v == obstat.Deny {
			out = append(out, "PowerShell"+content)
		}
		return append(out, "Bash"+strings.TrimPrefix(content, "(*)"))
	case "read", "write", "delete":
		return claudeFiles(v, verb, target)
	case "connect":
		switch {
		case target == "anywhere":
			return []string{"WebFetch"}
		case strings.ContainsAny(target, ".:"):
			return []string{"WebFetch(domain:" + target + ")"}
		}
	case "tool":
		if !strings.ContainsAny(target, " *") {
			return []string{target}
		}
	}
	return nil
}

// claudeCommand returns the content of a rule for commands with its parentheses; "" where it cannot be written.
func claudeCommand(target string) string {
	text, exact := commandText(target)
	switch {
	case target == "anything":
		return "(*)"
	case strings.ContainsAny(text, "()\n") || text == "":
		return ""
	case exact:
		return "(" + text + ")"
	}
	return "(" + text + " *)"
}

func claudeFiles(v obstat.Verdict, verb, target string) (out []string) {
	tool := map[bool]string{true: "Read", false: "Edit"}[verb == "read"]
	switch {
	case verb == "delete" && (v == obstat.Allow || !isPath(target)):
		return nil
	case target == "anything":
		return []string{tool}
	}
	for _, t := range placeTargets(target) {
		if target != t && strings.HasPrefix(t, "**/") {
			t = "/" + t // a secret is one outside of the project, too
		}
		if p := claudePath(t); p != "" {
			out = append(out, tool+"("+p+")")
		}
	}
	return out
}

// claudePath writes a place of obstat.yaml as a path of Claude Code's; "" for a place with a name of its own.
func claudePath(target string) string {
	target = strings.Trim(target, `"`)
	switch {
	case target == "workspace":
		return "/**"
	case strings.HasPrefix(target, "~/"), strings.HasPrefix(target, "**/"):
		return target
	case strings.HasPrefix(target, "/"):
		return "/" + target
	case strings.HasPrefix(target, "./"):
		return target[1:]
	case !isPath(target):
		return ""
	case strings.Contains(strings.TrimSuffix(target, "/**"), "/"):
		return "/" + target
	}
	return target
}

// claudeClose asks about the tool, or the program, that Claude Code allows by itself.
func claudeClose(r *diff.Region) []string {
	switch t, _ := effect.Lookup(r.Call.Tool); t.Canonical {
	case "shell", "powershell":
		a := effect.Analyze(&effect.Request{Tool: r.Call.Tool, Input: r.Call.Input,
			Options: effect.Options{Dir: diff.Dir, Roots: []string{diff.Dir}}})
		var out []string
		for i := range a.Commands {
			if p := a.Commands[i].Program; p != "" {
				out = append(out, "Bash("+p+" *)")
			}
		}
		return out
	case "read", "glob", "grep", "list":
		return []string{"Read"}
	}
	return []string{r.Call.Tool}
}

// codexRules writes a command as a rule of Codex's, which is about the beginning of commands.
func codexRules(v obstat.Verdict, verb, target string) []string {
	text, exact := commandText(target)
	decision := map[obstat.Verdict]string{obstat.Allow: "allow", obstat.Ask: "prompt", obstat.Deny: "forbidden"}[v]
	if verb == "connect" && strings.Contains(target, ".") && !strings.Contains(target, "*") {
		return []string{fmt.Sprintf("network_rule(host=%s, protocol=\"https\", decision=%s)", jsonx.Quote(target),
			jsonx.Quote(strings.Replace(decision, "forbidden", "deny", 1)))}
	}
	words := strings.Fields(text)
	if verb != "run" || target == "anything" || len(words) == 0 || strings.ContainsAny(text, "*'\"`$\\;&|<>") {
		return nil
	}
	if exact && v == obstat.Allow {
		return nil // a longer command would be allowed as well
	}
	for i, w := range words {
		words[i] = jsonx.Quote(w)
	}
	return []string{"prefix_rule(pattern=[" + strings.Join(words, ", ") + "], decision=" + jsonx.Quote(decision) + ")"}
}

var (
	codexAllows = regexp.MustCompile(`^prefix_rule\(pattern=\["([^"/]+)".*decision="allow"\)$`)
	// programDirs are where a program counts as the one of that name.
	programDirs = []string{"/usr/bin/", "/bin/", "/usr/local/bin/"}
)

// codexText writes rules one a line, the denials first. A rule that allows a program holds for those of the
// system: without host_executable Codex lets it hold for any file of that name, `./evil/git`.
func codexText(rules []ExportRule, s *Sheet) {
	s.printf("%s", exportedHead)
	named := map[string]bool{}
	for _, r := range byVerdict(rules, obstat.Deny, obstat.Ask, obstat.Allow) {
		if m := codexAllows.FindStringSubmatch(r.Text); m != nil && !named[m[1]] {
			named[m[1]] = true
			var at []string
			for _, dir := range programDirs {
				at = append(at, jsonx.Quote(dir+m[1]))
			}
			s.printf("host_executable(name=%s, paths=[%s])\n", jsonx.Quote(m[1]), strings.Join(at, ", "))
		}
		s.rule(r)
		s.printf("%s\n", r.Text)
	}
}

// byVerdict returns the rules in the order of verdicts.
func byVerdict(rules []ExportRule, order ...obstat.Verdict) (out []ExportRule) {
	for _, v := range order {
		for _, r := range rules {
			if r.Verdict == v {
				out = append(out, r)
			}
		}
	}
	return out
}

// cursorRules writes a target as a permission of Cursor's, which has none to ask.
func cursorRules(v obstat.Verdict, verb, target string) (out []string) {
	if v == obstat.Ask {
		return nil
	}
	for _, text := range claudeRules(v, verb, target) {
		tool, content, called := strings.Cut(strings.TrimSuffix(text, ")"), "(")
		switch {
		case tool == "PowerShell":
		case tool == "Bash" && !called:
			out = append(out, "Shell(*)")
		case tool == "Bash":
			base, args, _ := strings.Cut(content, " ")
			out = append(out, "Shell("+base+":"+args+")")
		case tool == "Edit" || tool == "Read":
			content = strings.TrimPrefix(cmp.Or(content, "**"), "/") // from the workspace, or //absolute
			out = append(out, map[string]string{"Edit": "Write", "Read": "Read"}[tool]+"("+content+")")
		case tool == "WebFetch":
			out = append(out, "WebFetch("+strings.TrimPrefix(cmp.Or(content, "*"), "domain:")+")")
		default:
			rest, isServer := strings.CutPrefix(text, "mcp__")
			if server, name, ok := strings.Cut(rest, "__"); ok && isServer {
				out = append(out, "Mcp("+server+":"+name+")")
			}
		}
	}
	return out
}

// ExportMark begins the files that have comments.
const ExportMark = "# Exported by obstat policy export"

const exportedHead = ExportMark + ". Change obstat.yaml, and export it again.\n"

// permissionsText writes lists of rules as the permissions of a JSON file.
func permissionsText(names map[obstat.Verdict]string) func([]ExportRule, *Sheet) {
	return func(rules []ExportRule, s *Sheet) {
		s.printf("{\n  \"permissions\": {")
		first := true
		for _, v := range []obstat.Verdict{obstat.Allow, obstat.Ask, obstat.Deny} {
			if names[v] == "" {
				continue
			}
			if !first {
				s.printf(",")
			}
			first = false
			list := byVerdict(rules, v)
			s.printf("\n    %s: [", jsonx.Quote(names[v]))
			for i, r := range list {
				if i > 0 {
					s.printf(",")
				}
				s.printf("\n      ")
				s.rule(r)
				s.printf("%s", jsonx.Quote(r.Text))
			}
			if len(list) > 0 {
				s.printf("\n    ")
			}
			s.printf("]")
		}
		s.printf("\n  }\n}\n")
	}
}

// Tools of Gemini CLI, and those of them that read and write files.
var (
	geminiTools = strings.Fields("run_shell_command read_file read_many_files glob grep_search list_directory " +
		"write_file replace web_fetch google_web_search activate_skill")
	geminiFiles = map[string]string{"read": `["read_file", "read_many_files", "glob", "grep_search", "list_directory"]`,
		"write": `["write_file", "replace"]`}
)

// leaves is a path that leaves the project which calls are made in.
var leaves = regexp.MustCompile(`"(?:/|~|[^"]*\.\.)`)

// geminiRefuses: the tools for files take no path outside of the workspace.
func geminiRefuses(c *obstat.Call) bool {
	files := strings.Contains(geminiFiles["read"]+geminiFiles["write"], jsonx.Quote(c.Tool))
	return files && leaves.MatchString(strings.ReplaceAll(string(c.Input), diff.Dir, "."))
}

func geminiTool(name string) string { return "toolName = " + jsonx.Quote(name) }

// geminiRules writes a target as the values of a [[rule]] of Gemini CLI's.
func geminiRules(v obstat.Verdict, verb, target string) []string {
	const shellTool = `toolName = "run_shell_command"`
	text, exact := commandText(target)
	server, name, isServer := strings.Cut(strings.TrimPrefix(target, "mcp__"), "__")
	switch {
	case verb == "run" && target == "anything":
		return []string{shellTool}
	case verb == "run" && exact:
		whole := `\x00"command":"` + regexp.QuoteMeta(jsonInner(text)) + `"\x00`
		return []string{shellTool + "\nargsPattern = " + tomlText(whole)}
	case verb == "run" && !strings.Contains(text, "*"):
		return []string{shellTool + "\ncommandPrefix = " + jsonx.Quote(text)}
	case verb == "run" && v != obstat.Allow:
		glob := strings.ReplaceAll(regexp.QuoteMeta(jsonInner(text)), `\*`, ".*")
		return []string{shellTool + "\nargsPattern = " + tomlText(`"command":".*`+glob)}
	case verb == "read" || verb == "write":
		return geminiPaths(v, verb, target)
	case verb == "connect" && target == "anywhere":
		return []string{geminiTool("web_fetch")}
	case verb == "connect" && v != obstat.Allow && strings.Contains(target, "."):
		host := strings.ReplaceAll(regexp.QuoteMeta(target), `\*`, `[^\s/"]*`)
		return []string{geminiTool("web_fetch") + "\nargsPattern = " + tomlText(host)}
	case verb == "tool" && isServer && strings.HasPrefix(target, "mcp__"):
		return []string{"mcpName = " + jsonx.Quote(server) + "\n" + geminiTool(name)}
	case verb == "tool" && ownTool(geminiTools, target) != "":
		return []string{geminiTool(ownTool(geminiTools, target))}
	}
	return nil
}

// geminiCommand writes a pattern of commands as the values of a [[rule]].
func geminiCommand(text string) string {
	glob, end := strings.TrimSuffix(text, "*"), ""
	if words, all := strings.CutSuffix(glob, " "); all {
		glob, end = words, `[\s"\\]` // alone, too
	}
	if text != "" && !strings.HasSuffix(text, "*") {
		end = `"` // nothing more
	}
	glob = strings.ReplaceAll(regexp.QuoteMeta(jsonInner(glob)), `\*`, ".*")
	return "toolName = \"run_shell_command\"\nargsPattern = " + tomlText(`"command":"`+glob+end)
}

// geminiJoined makes one rule of all that ask about forms of commands.
func geminiJoined(rules []ExportRule) (out []ExportRule) {
	before := strings.TrimSuffix(geminiCommand(""), "'''")
	var alts []string
	size := 0
	flush := func() {
		if len(alts) > 0 {
			out = append(out, ExportRule{Verdict: obstat.Ask, Text: before + "(?:" + strings.Join(alts, "|") + ")'''"})
		}
		alts, size = nil, 0
	}
	for _, r := range rules {
		alt, plain := strings.CutPrefix(r.Text, before)
		if alt, plain = strings.TrimSuffix(alt, "'''"), plain && r.form && strings.HasSuffix(r.Text, "'''"); !plain {
			out = append(out, r)
			continue
		}
		if size += len(alt) + 1; size > maxAlternatives {
			flush()
		}
		alts = append(alts, alt)
	}
	flush()
	return out
}

// geminiPaths writes a rule about files. Gemini CLI itself keeps its tools inside the workspace; a path that is
// denied, or asked about, is looked for among the arguments of its tools and of commands.
func geminiPaths(v obstat.Verdict, verb, target string) []string {
	if target == "workspace" || target == "anything" {
		return []string{"toolName = " + geminiFiles[verb]}
	}
	return geminiList(v, verb, placeTargets(target))
}

// geminiList writes a rule about several paths.
func geminiList(v obstat.Verdict, verb string, list []string) []string {
	if v == obstat.Allow || geminiFiles[verb] == "" {
		return nil // a rule sees the path as the model wrote it, `src/../../x`
	}
	var alts []string
	for _, t := range list {
		if t = strings.Trim(t, `"`); !isPath(t) {
			return nil
		}
		if alt := pathExpression(t); !slices.Contains(alts, alt) {
			alts = append(alts, alt)
		}
	}
	var out []string
	for len(alts) > 0 {
		n, size := 0, 0
		for n < len(alts) && size < maxAlternatives {
			size += len(alts[n]) + 1
			n++
		}
		one := "(?:" + strings.Join(alts[:n], "|") + ")"
		alts = alts[n:]
		out = append(out, "toolName = "+geminiFiles[verb]+"\nargsPattern = "+
			tomlText(`"(?:file_path|filePath|dir_path|path|paths|absolute_path|include)":(?:"|\[")(?:[^"]*/|)`+one+`["/]`),
			"toolName = \"run_shell_command\"\nargsPattern = "+tomlText(`"command":".*[\s/=:<>'"~]`+one+`[\s/'";|&)<>\\]`))
	}
	return out
}

// maxAlternatives bounds the text of alternatives in one expression: Gemini CLI drops a rule of more than 2,048.
const maxAlternatives = 1_500

// pathExpression writes a path of obstat.yaml as an expression for the end of a path, directories before it left out.
func pathExpression(p string) string {
	for _, before := range []string{"./", "~/", "/**/", "**/", "/"} {
		p = strings.TrimPrefix(p, before)
	}
	p = strings.TrimSuffix(p, "/**")
	p = strings.ReplaceAll(regexp.QuoteMeta(p), `\*\*`, `[^"\s]*`)
	return strings.ReplaceAll(p, `\*`, `[^/"\s]*`)
}

// tomlText writes a text as TOML does without escapes, or with them where it has the quotes that end such a text.
func tomlText(s string) string {
	if strings.Contains(s, "'''") || strings.HasSuffix(s, "'") || strings.ContainsFunc(s, unicode.IsControl) {
		return jsonx.Quote(s)
	}
	return "'''" + s + "'''"
}

// jsonInner returns a text as JSON has it between quotes.
func jsonInner(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(data[1 : len(data)-1])
}

// geminiText writes Gemini CLI's rules, a stricter one with a higher priority; rules that hold the program's own back
// come last.
func geminiText(rules []ExportRule, s *Sheet) {
	s.printf("%s", exportedHead)
	words := map[obstat.Verdict]string{obstat.Deny: "deny", obstat.Ask: "ask_user", obstat.Allow: "allow"}
	for _, r := range byVerdict(geminiJoined(rules), obstat.Deny, obstat.Ask, obstat.Allow) {
		priority := 900 - 100*int(r.Verdict)
		if r.from == nil && !strings.Contains(r.Text, "\n") {
			priority = 100
		}
		s.rule(r)
		s.printf("\n[[rule]]\n%s\ndecision = %s\npriority = %d\n", r.Text, jsonx.Quote(words[r.Verdict]), priority)
	}
}

// opencodeRules writes a target as a tool and a pattern of opencode's, joined by a tab.
func opencodeRules(v obstat.Verdict, verb, target string) (out []string) {
	text, exact := commandText(target)
	switch {
	case verb == "run" && target == "anything":
		return []string{"bash\t*"}
	case verb == "run" && exact:
		return []string{"bash\t" + text}
	case verb == "run":
		return []string{"bash\t" + text + " *"}
	case verb == "connect" && target == "anywhere":
		return []string{"webfetch\t*"}
	case verb == "connect":
		return nil // opencode has no rules for hosts
	case verb == "tool" && !strings.ContainsAny(target, " *"):
		return []string{cmp.Or(ownTool(strings.Fields("websearch skill task"), target), target) + "\t*"}
	}
	tool := map[string]string{"read": "read", "write": "edit", "delete": "edit"}[verb]
	if tool == "" || verb == "delete" && (v == obstat.Allow || !isPath(target)) {
		return nil
	}
	if target == "anything" || target == "workspace" {
		return []string{tool + "\t*"}
	}
	for _, t := range placeTargets(target) {
		pats := opencodePath(v, tool, t)
		if t != target && v != obstat.Allow {
			pats = opencodeListed(tool, t)
		}
		if out = append(out, pats...); tool == "read" && v != obstat.Allow {
			for _, p := range pats {
				if rest, is := strings.CutPrefix(p, "read\t"); is {
					out = append(out, "list\t"+rest)
				}
			}
		}
	}
	return out
}

// opencodeListed writes a path of a place with a name, `**/.npmrc` or `**/.kube/**`: a star of opencode's crosses
// slashes, so that one pattern holds for the path wherever it lies.
func opencodeListed(tool, target string) (out []string) {
	p, anywhere := strings.CutPrefix(target, "**/")
	if !anywhere {
		return opencodePath(obstat.Ask, tool, target)
	}
	p, dir := strings.CutSuffix(p, "/**")
	if dir {
		p += "/*"
	}
	if strings.HasPrefix(p, "*") {
		return []string{tool + "\t" + p}
	}
	if strings.HasPrefix(p, ".") {
		return []string{tool + "\t*" + p}
	}
	return []string{tool + "\t" + p, tool + "\t*/" + p}
}

// opencodePath writes the patterns of a path: in the project, below it, and as a directory outside of it.
func opencodePath(v obstat.Verdict, tool, target string) (out []string) {
	p := strings.TrimPrefix(strings.Trim(target, `"`), "./")
	if strings.HasPrefix(p, "/**/") && v != obstat.Allow {
		p = p[1:] // wherever it lies: a path outside is shown as `../../x`
	}
	if !isPath(target) {
		return nil
	}
	if outside := strings.HasPrefix(p, "~/") || strings.HasPrefix(p, "/"); outside {
		if v == obstat.Allow {
			return nil
		}
		p = strings.TrimSuffix(p, "/**")
		seen := "*/" + strings.TrimPrefix(strings.TrimPrefix(p, "~/"), "/") // opencode shows `../../.ssh/x`
		return []string{"external_directory\t" + p + "*", tool + "\t" + seen, tool + "\t" + seen + "/*"}
	}
	below, dir := strings.CutSuffix(p, "/**")
	bare := strings.TrimPrefix(below, "**/")
	anywhere := bare != below || !strings.Contains(below, "/")
	bare = strings.ReplaceAll(bare, "**", "*")
	itself := !dir || v != obstat.Allow
	if itself {
		out = append(out, tool+"\t"+bare)
	}
	out = append(out, tool+"\t"+bare+"/*")
	if anywhere {
		if itself {
			out = append(out, tool+"\t*/"+bare)
		}
		out = append(out, tool+"\t*/"+bare+"/*")
	}
	return out
}

// opencodeText writes opencode's permissions: the last pattern that matches counts, so the strictest come last, and
// all that is not named asks.
func opencodeText(rules []ExportRule, s *Sheet) {
	var tools []string
	of := map[string][]ExportRule{}
	base := map[string]ExportRule{}
	for _, r := range byVerdict(rules, obstat.Allow, obstat.Ask, obstat.Deny) {
		tool, pat, _ := strings.Cut(r.Text, "\t")
		if _, there := base[tool]; !there {
			tools, base[tool] = append(tools, tool), ExportRule{Verdict: obstat.Ask, Text: tool + "\t*"}
		}
		if pat != "*" {
			of[tool] = slices.DeleteFunc(of[tool], func(o ExportRule) bool { return o.Text == r.Text })
			of[tool] = append(of[tool], r)
			continue
		}
		base[tool] = r // and looser patterns do not count any more
		of[tool] = slices.DeleteFunc(of[tool], func(o ExportRule) bool { return o.Verdict > r.Verdict })
	}
	slices.Sort(tools)
	s.printf("{\n  \"permission\": {\n    \"*\": \"ask\"")
	for _, tool := range tools {
		if len(of[tool]) == 0 { // as tools without patterns want it
			s.printf(",\n    ")
			s.rule(base[tool])
			s.printf("%s: %s", jsonx.Quote(tool), jsonx.Quote(base[tool].Verdict.String()))
			continue
		}
		s.printf(",\n    %s: {", jsonx.Quote(tool))
		for i, r := range append([]ExportRule{base[tool]}, of[tool]...) {
			if i > 0 {
				s.printf(",")
			}
			_, pat, _ := strings.Cut(r.Text, "\t")
			s.printf("\n      ")
			s.rule(r)
			s.printf("%s: %s", jsonx.Quote(pat), jsonx.Quote(r.Verdict.String()))
		}
		s.printf("\n    }")
	}
	s.printf("\n  }\n}\n")
}
