package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/internal/study/explain"
)

// mcpOptions are the options of obstat mcp.
type mcpOptions struct {
	*Factory
	Name     string   `flag:"name"`
	Agent    string   `flag:"agent" words:"@agents"`
	Wait     string   `flag:"wait"`
	Forms    string   `flag:"forms" words:"on off"`
	Mask     string   `flag:"mask" words:"on off"`
	Upstream string   `flag:"upstream"` // address of the server, in place of a command
	Listen   string   `flag:"listen"`   // where clients reach the gateway, in place of standard input
	Config   string   `flag:"config"`   // a file with mcpServers
	Headers  []string `flag:"header"`
	Origins  []string `flag:"origin"`
	Hosts    []string `flag:"host"`
	Policy   policyOptions
	Getenv   func(string) string
}

func newMCP(f *Factory) *cobra.Command {
	o := &mcpOptions{Factory: f, Wait: "auto", Forms: "on", Mask: "on", Getenv: os.Getenv}
	cmd := command("mcp", some(0, -1), o, untilInterrupt(o.run))
	cmd.Flags().SetInterspersed(false) // flags behind the command are the server's
	canary := func(*cobra.Command, []string) error { return mcp.Canary(f.IO.In, f.IO.Out) }
	cmd.AddCommand(newMCPTools(f), &cobra.Command{Use: "canary", Hidden: true, Args: cobra.NoArgs, RunE: canary})
	return cmd
}

func (o *mcpOptions) run(ctx context.Context, args []string) error {
	switch {
	case o.Listen != "" && !local(o.Listen):
		return usagef("%s can be reached from other machines, and the gateway knows nobody by a token: listen on localhost, or use obstat serve --mcp, which does", o.Listen)
	case o.Listen == "" && len(o.Hosts)+len(o.Origins) > 0:
		return usagef("--host and --origin go with --listen")
	case o.Upstream == "" && len(o.Headers) > 0:
		return usagef("--header goes with --upstream")
	}
	if o.Config != "" {
		return o.many(ctx, args)
	}
	if (len(args) == 0) == (o.Upstream == "") {
		return usagef("say how the server is started (obstat mcp -- COMMAND ARGS) or where it is (--upstream URL)")
	}
	st, err := o.station(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	var process *mcp.Process
	var remote *mcp.Remote
	name := o.Name
	if o.Upstream != "" {
		if remote, err = o.remote(); err != nil {
			return err
		}
		name = cmp.Or(name, hostOf(o.Upstream))
	} else {
		process = &mcp.Process{Command: args, Stderr: o.IO.Err}
		name = cmp.Or(name, serverName(args))
	}
	g, err := st.Guard(name)
	if err == nil && o.here(process) {
		err = st.Keeps(ctx, g)
	}
	o.confine(ctx, st, name, process)
	switch {
	case err != nil:
		return err
	case o.Listen != "":
		return o.listen(ctx, g.Handler(process, remote, &mcp.HTTPOptions{Hosts: o.Hosts, Origins: o.Origins}))
	case remote != nil:
		return g.ServeRemote(ctx, remote, o.IO.In, o.IO.Out)
	}
	return g.Serve(ctx, process, o.IO.In, o.IO.Out)
}

// many serves the servers of a file: as one, whose tools have the server's name in front, and
// over HTTP each by itself as well.
func (o *mcpOptions) many(ctx context.Context, args []string) error {
	if len(args) > 0 || o.Upstream != "" || o.Name != "" {
		return usagef("--config names all servers: obstat mcp --config mcp.json [--listen localhost:7070]")
	}
	st, err := o.station(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	b := &mcp.Bundle{Version: thisVersion().Version, Log: o.IO.Err}
	if b.Members, err = members(o.Config, o.IO.Err, st.Guard); err != nil {
		return err
	}
	for _, m := range b.Members {
		if o.here(m.Process) {
			if err := st.Keeps(ctx, m.Guard); err != nil {
				return err
			}
		}
		o.confine(ctx, st, m.Guard.Name, m.Process)
	}
	if o.Listen == "" {
		return b.Serve(ctx, o.IO.In, o.IO.Out)
	}
	addressed := &mcp.HTTPOptions{Hosts: o.Hosts, Origins: o.Origins}
	mux := http.NewServeMux()
	serve := func(what, path string, f *mcp.Front) {
		mux.Handle(path, f)
		context.AfterFunc(ctx, f.Close)
		fmt.Fprintf(o.IO.Err, "obstat mcp: %s at %s\n", what, path)
	}
	serve("all of them", "/mcp", b.Handler(addressed))
	for _, m := range b.Members {
		serve(m.Guard.Name, "/mcp/"+m.Guard.Name, m.Guard.Handler(m.Process, m.Remote, addressed))
	}
	return o.listen(ctx, mux)
}

// here tells whether a server's paths are files of this machine: not those of one at an address, nor in a container as
// `docker run -i mcp/filesystem`, nor behind `ssh`.
func (o *mcpOptions) here(p *mcp.Process) bool {
	if p == nil {
		return false
	}
	input, err := json.Marshal(map[string]string{"command": shellText(p.Command)})
	a := explain.Analyze(&obstat.Call{Tool: "Bash", Input: input, Dir: "/"}, o.World)
	return err == nil && !slices.ContainsFunc(a.Effects, func(e effect.Effect) bool {
		return e.Where != "" || e.Kind == effect.System
	})
}

// confine has a server started by `obstat run`, inside its own lines of the policy, where that has some.
func (o *mcpOptions) confine(ctx context.Context, st *mcp.Station, name string, p *mcp.Process) {
	dir := cmp.Or(o.Policy.Dir, ".")
	if p == nil || len(p.Command) == 0 || !st.Confines(ctx, name) {
		return
	}
	exe, err := os.Executable()
	if err != nil {
		exe = "obstat" // the one on PATH, or the server does not start
	}
	words := []string{exe, "run", "--server", name, "--dir", dir}
	for _, file := range o.Policy.Files {
		words = append(words, "--policy", file)
	}
	p.Command = append(append(words, "--"), p.Command...)
}

// members returns the servers of a file, each with its guard.
func members(file string, words io.Writer, guard func(name string) (*mcp.Guard, error)) (out []mcp.Member, err error) {
	list, err := agent.Servers(&agent.Where{}, file)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s has no mcpServers", file)
	}
	for i := range list {
		g, err := guard(list[i].Name)
		m := mcp.Member{Guard: g}
		if m.Process, m.Remote = reached(&list[i], words); err == nil && m.Remote != nil {
			err = m.Remote.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, list[i].Name, err)
		}
		out = append(out, m)
	}
	return out, err
}

// reached returns how a server of agents' settings is reached: as a process, or at an address.
func reached(s *agent.Server, words io.Writer) (*mcp.Process, *mcp.Remote) {
	if s.URL != "" {
		header := http.Header{}
		for name, value := range s.Header {
			header.Set(name, value)
		}
		return nil, &mcp.Remote{URL: s.URL, Header: header}
	}
	return &mcp.Process{Command: s.Command, Env: s.Env, Dir: s.Dir, Stderr: words}, nil
}

// hostOf returns the host of an address, "" where it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// remote returns the server at the address, with the gateway's own credentials.
func (o *mcpOptions) remote() (*mcp.Remote, error) {
	r := &mcp.Remote{URL: o.Upstream, Header: http.Header{}}
	for _, h := range o.Headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, usagef("--header takes `Name: value`, not %q", h)
		}
		r.Header.Set(strings.TrimSpace(name), os.Expand(strings.TrimSpace(value), o.Getenv))
	}
	if err := r.Check(); err != nil {
		return nil, usagef("%s", err)
	}
	return r, nil
}

// listen serves clients over HTTP until ctx ends.
func (o *mcpOptions) listen(ctx context.Context, h http.Handler) error {
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.IO.Err, "obstat mcp: http://%s\n", l.Addr())
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// station opens the gate in front of servers.
func (o *mcpOptions) station(ctx context.Context) (*mcp.Station, error) {
	named, err := o.Policy.named()
	if err != nil {
		return nil, err
	}
	w, err := waiting(o.Wait, o.Getenv)
	if err != nil {
		return nil, err
	}
	if o.Forms != "on" && o.Forms != "off" {
		return nil, usagef("--forms takes on or off, not %q", o.Forms)
	}
	if o.Mask != "on" && o.Mask != "off" {
		return nil, usagef("--mask takes on or off, not %q", o.Mask)
	}
	dir, err := o.dir(o.Policy.Dir)
	if err != nil {
		return nil, err
	}
	exe, _ := os.Executable() // "" where that is not known
	return mcp.Open(ctx, mcp.Options{Policy: named, Dir: dir, Agent: o.Agent,
		Off: w.Off, Hold: w.For, NoForms: o.Forms == "off", NoMask: o.Mask == "off",
		Piped: o.Listen == "", Getenv: o.Getenv, Exe: exe, Log: o.IO.Err})
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
