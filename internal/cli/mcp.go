package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/hook"
	"github.com/obstat/obstat/internal/mcp"
	inforce "github.com/obstat/obstat/policy"
)

// mcpOptions are the options of obstat mcp.
type mcpOptions struct {
	*Factory
	Name   string
	Agent  string
	Wait   string
	Forms  string
	Policy policyOptions
	Getenv func(string) string
}

func newMCP(f *Factory) *cobra.Command {
	o := &mcpOptions{Factory: f, Getenv: os.Getenv}
	cmd := command("mcp", some(0, -1), func(ctx context.Context, args []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		return mcpRun(ctx, o, args)
	})
	o.flags(cmd)
	cmd.Flags().SetInterspersed(false) // what comes behind the command is the server's
	return cmd
}

func (o *mcpOptions) flags(cmd *cobra.Command) {
	o.Policy.flags(cmd, true)
	cmd.Flags().StringVar(&o.Name, "name", "", "`name` of the server, as rules have it: mcp__NAME__TOOL (default: that of its program)")
	cmd.Flags().StringVar(&o.Agent, "agent", "", "`name` of the agent that makes the calls (default: told by the client)")
	cmd.Flags().StringVar(&o.Wait, "wait", "auto", "wait for an answer in obstat ask where the client cannot show a form: `auto`, off, or how long")
	cmd.Flags().StringVar(&o.Forms, "forms", "on", "ask through the client's own forms where it has them: `on` or off")
	complete(cmd, "forms", "on", "off")
	complete(cmd, "agent", agent.Agents()...)
}

func mcpRun(ctx context.Context, o *mcpOptions, args []string) error {
	if len(args) == 0 {
		return usagef("say how the server is started: obstat mcp -- COMMAND ARGS")
	}
	st, err := o.station(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	g, err := st.Guard(cmp.Or(o.Name, serverName(args)))
	if err != nil {
		return err
	}
	return g.Serve(ctx, &mcp.Process{Command: args, Stderr: o.IO.Err}, o.IO.In, o.IO.Out)
}

// station opens what guards servers.
func (o *mcpOptions) station(ctx context.Context) (*mcp.Station, error) {
	opts, err := o.Policy.options()
	if err != nil {
		return nil, err
	}
	w, err := hook.ParseWaiting(o.Wait)
	if err != nil {
		return nil, usagef("%s", err)
	}
	if o.Forms != "on" && o.Forms != "off" {
		return nil, usagef("--forms takes on or off, not %q", o.Forms)
	}
	if o.Getenv(noWait) == "off" {
		w = hook.Waiting{Off: true}
	}
	dir, err := o.dir(o.Policy.Dir)
	if err != nil {
		return nil, err
	}
	exe, _ := os.Executable() // "" where that is not known
	return mcp.Open(ctx, mcp.Options{Policy: inforce.Named{Files: o.Policy.Files, Dialect: o.Policy.Dialect, Options: opts}, Dir: dir, Agent: o.Agent,
		Off: w.Off, Hold: w.For, NoForms: o.Forms == "off", Getenv: o.Getenv, Exe: exe, Log: o.IO.Err})
}

// serverName makes a name of the program that is started: `server-github` of
// `npx -y @modelcontextprotocol/server-github`.
func serverName(args []string) string {
	name := filepath.Base(args[0])
	switch strings.TrimSuffix(name, ".exe") {
	case "npx", "uvx", "pipx", "node", "python", "python3", "bunx", "docker", "uv", "deno", "bun", "sh", "bash", "env":
		for _, a := range args[1:] {
			if !strings.HasPrefix(a, "-") && a != "run" && a != "exec" && a != "tool" {
				name = a
				break
			}
		}
	}
	name = filepath.Base(name)
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i] // the version
	}
	for _, ext := range []string{".js", ".mjs", ".py", ".exe", ".ts"} {
		name = strings.TrimSuffix(name, ext)
	}
	return fmt.Sprint(name)
}
