package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/face/mcp"
)

// mcpToolsOptions are the options of obstat mcp tools.
type mcpToolsOptions struct {
	mcpOptions
	Accept bool `flag:"accept"`
	Yes    bool `flag:"yes y"`
}

func newMCPTools(f *Factory) *cobra.Command {
	o := &mcpToolsOptions{mcpOptions: mcpOptions{Factory: f, Getenv: os.Getenv, Wait: "off", Forms: "off", Mask: "on"}}
	var cmd *cobra.Command
	cmd = command("mcp tools", some(0, -1), o, func(ctx context.Context, args []string) error {
		names, server := args, []string(nil)
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			names, server = args[:at], args[at:]
		}
		return o.list(ctx, names, server)
	})
	return cmd
}

// mcpToolsJSON is the output of --json.
type mcpToolsJSON struct {
	V int `json:"v"`
	client.MCPServers
}

func (o *mcpToolsOptions) list(ctx context.Context, names, server []string) error {
	targets, err := o.targets(names, server)
	if err != nil {
		return err
	}
	st, err := o.station(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	out := mcpToolsJSON{1, client.MCPServers{Servers: []client.MCPServer{}}}
	var accept []func() error
	for _, t := range targets {
		one := client.MCPServer{Server: t.name, From: t.from, Tools: []client.MCPTool{}}
		g, err := st.Guard(t.name)
		if err == nil {
			var all []mcp.Offered
			var defs []mcp.Definition
			if all, defs, err = g.Inspect(ctx, t.process, t.remote); err == nil {
				different := false
				for i := range all {
					different = different || all[i].State != ""
					one.Tools = append(one.Tools, all[i].Wire())
				}
				if different {
					accept = append(accept, func() error { return g.Accept(ctx, defs, userName()) })
				}
			}
		}
		if err != nil {
			one.Error = err.Error()
		}
		out.Servers = append(out.Servers, one)
	}
	if err := o.show(out, func(s *screen) { layTools(s, out.Servers) }); err != nil {
		return err
	}
	return o.acceptTools(accept)
}

// acceptTools accepts the tools that were shown, with --accept.
func (o *mcpToolsOptions) acceptTools(all []func() error) error {
	switch {
	case len(all) == 0:
		return nil
	case !o.Accept:
		return done(ExitAsk)
	}
	if _, err := o.mcpOptions.accept(stateHome(), "Accept these tools as they are now?", o.Yes); err != nil {
		return err
	}
	for _, do := range all {
		if err := do(); err != nil {
			return err
		}
	}
	fmt.Fprintln(o.IO.Err, "accepted; agents are shown them when they list the tools the next time")
	return nil
}

func layTools(s *screen, servers []client.MCPServer) {
	for _, server := range servers {
		s.printf("%s", visible(server.Server))
		if server.From != "" {
			s.printf("  %s", s.io.paint(dim, visible(server.From)))
		}
		s.printf("\n")
		if server.Error != "" {
			s.line("", "cannot be asked: "+visible(server.Error))
		}
		for _, t := range server.Tools {
			verdict := t.Loosest
			if t.Strictest != t.Loosest {
				verdict = t.Strictest + " to " + t.Loosest
			}
			s.printf("  %s %s", pad(verdict, 14), visible(t.Name))
			if words := strings.TrimSuffix(strings.Join([]string{t.State, t.Hidden}, ": "), ": "); words != "" {
				s.printf("   %s", strings.TrimPrefix(words, ": "))
			}
			s.printf("\n")
			for _, line := range t.Difference {
				s.printf("      %s\n", s.io.paint(signInk(line), visible(line)))
			}
		}
	}
}

// A target is a server whose tools are shown.
type toolsTarget struct {
	name, from string
	process    *mcp.Process
	remote     *mcp.Remote
}

// targets returns the servers that are named: by a command, an address, or their names in
// a file or in the settings of agents.
func (o *mcpToolsOptions) targets(names, server []string) (out []toolsTarget, err error) {
	switch {
	case len(server) > 0:
		return []toolsTarget{{name: cmp.Or(o.Name, serverName(server)), process: &mcp.Process{Command: server}}}, nil
	case o.Upstream != "":
		r, err := o.remote()
		return []toolsTarget{{name: cmp.Or(o.Name, hostOf(o.Upstream)), remote: r}}, err
	}
	dir, err := o.dir(o.Policy.Dir)
	if err != nil {
		return nil, err
	}
	home, _ := o.World.Home("")
	list, err := agent.Servers(&agent.Where{Home: home, Projects: []string{dir}, Getenv: o.Getenv}, o.Config)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if len(names) > 0 && !slices.Contains(names, s.Name) || slices.ContainsFunc(out,
			func(t toolsTarget) bool { return t.name == s.Name }) {
			continue
		}
		t := toolsTarget{name: s.Name, from: s.File}
		t.process, t.remote = reached(&s, nil)
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, usagef("there is no such server in the settings of the agents here; name its command: obstat mcp tools -- COMMAND")
	}
	return out, nil
}
