package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// commandGroups are the commands as somebody needs them one after the other, for `obstat --help`.
var commandGroups = []struct{ title, names string }{
	{"Guard an agent:", "install init ask status doctor trust uninstall"},
	{"Why, and what if:", "check explain effects try policy test replay"},
	{"What happened:", "log stats changes undo grants"},
	{"Run behind the policy:", "run mcp hook"},
	{"For many machines:", "serve join token"},
	{"More:", "demo version verify add-dir permissions completion help"},
}

// group puts the root's commands into their groups.
func group(root *cobra.Command) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, name := range strings.Fields(g.names) {
			if cmd, _, err := root.Find([]string{name}); err == nil && cmd != root {
				cmd.GroupID = g.title
			}
		}
	}
	root.SetHelpCommandGroupID(commandGroups[len(commandGroups)-1].title)
	root.SetCompletionCommandGroupID(commandGroups[len(commandGroups)-1].title)
}

// helpText is what --help prints: the command's words, in paragraphs of the terminal's width, and its usage.
func (s *IO) helpText(cmd *cobra.Command) string {
	words := cmd.Long
	if words == "" {
		words = cmd.Short
	}
	if s.OutTTY {
		words = joined(words)
	}
	return strings.Join(s.hung(strings.TrimRight(words, " \n")+"\n\n"+cmd.UsageString()), "\n") + "\n"
}

// A line of prose that is shorter than shortLine ends where its writer wanted it to end.
const shortLine = 60

// joined makes one line of the lines of a paragraph; what is indented, and what ends early, stays a line.
func joined(text string) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i, line := range lines {
		b.WriteString(line)
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		prose := columns(line) >= shortLine && next != "" && line[0] != ' ' && next[0] != ' '
		b.WriteString(map[bool]string{true: " ", false: "\n"}[prose])
	}
	return strings.TrimSuffix(b.String(), "\n")
}
