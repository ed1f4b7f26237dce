package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/console"
	"github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/internal/face/remote"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/store"
)

// serveOptions are the options of obstat serve.
type serveOptions struct {
	*Factory
	Policy policyOptions
	Store  storeOptions
	Listen server.Listening
	Hosts  []string
	Roster string
	Wait   time.Duration
	As     string
	World  string
	Rate   int
	Traces string
	Keep   string
	OIDC   server.OIDC
	MCP    string
	Demo   bool
}

func newServe(f *Factory) *cobra.Command {
	o := &serveOptions{Factory: f}
	cmd := command("serve", some(0, 0), untilInterrupt(func(ctx context.Context, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		return serveRun(ctx, o)
	}))
	o.Policy.flags(cmd, true)
	o.Store.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Listen.Addr, "addr", "127.0.0.1:8470", "`host:port` to listen on; other machines can reach it only with TLS")
	fl.StringVar(&o.Listen.Socket, "socket", "", "Unix `socket` to listen on as well, in a directory of mode 0700; agents need no token there")
	fl.StringVar(&o.Listen.Cert, "tls-cert", "", "`file` of the certificate")
	fl.StringVar(&o.Listen.Key, "tls-key", "", "`file` of its key")
	fl.StringArrayVar(&o.Hosts, "host", nil, "`name[:port]` that clients call the server by, besides the address")
	fl.StringVar(&o.Roster, "roster", "", "`file` that says who may answer which calls: docs/server.md has the form")
	fl.DurationVar(&o.Wait, "ask-timeout", 10*time.Minute, "how long a request waits for people")
	fl.StringVar(&o.As, "as", "", "`name` of the person that the login link is for (default: the user's)")
	fl.StringVar(&o.World, "world", "auto", "whether paths of calls are looked up on this machine: `auto`, local or none; auto does on loopback")
	fl.IntVar(&o.Rate, "rate", 5000, "how many requests a `second` one caller may send")
	fl.StringVar(&o.Traces, "traces", "", "`URL` of an OpenTelemetry collector that gets a span for each request, by OTLP over HTTP (default: OTEL_EXPORTER_OTLP_ENDPOINT)")
	fl.StringVar(&o.Keep, "keep", "", "take records out of the ledger that are older than this `time`, such as 90d (default: keep all)")
	fl.StringVar(&o.OIDC.Issuer, "oidc-issuer", "", "`URL` of the OpenID provider that people log in with")
	fl.StringVar(&o.OIDC.ClientID, "oidc-client", "", "client `ID` there; the secret is read from OBSTAT_OIDC_SECRET")
	fl.StringVar(&o.OIDC.PublicURL, "public-url", "", "`URL` that browsers reach this server by, for the provider's answer")
	fl.StringVar(&o.MCP, "mcp", "", "`file` with mcpServers: agents reach them behind the policy at /mcp/NAME, and all as one at /mcp")
	fl.BoolVar(&o.Demo, "demo", false, "serve a sample project, with a sample agent that makes calls to answer")
	complete(cmd, "world", "auto", "local", "none")
	return cmd
}

// check refuses flags that mean nothing.
func (o *serveOptions) check() error {
	switch traces, err := url.Parse(o.Traces); {
	case (o.Listen.Cert == "") != (o.Listen.Key == ""):
		return usagef("--tls-cert and --tls-key go together")
	case o.Listen.Addr == "" && o.Listen.Socket == "":
		return usagef("there is nowhere to listen: give --addr or --socket")
	case o.Wait <= 0:
		return usagef("--ask-timeout is a time from now on, not %s", o.Wait)
	case o.Rate <= 0:
		return usagef("--rate is 1 at least, not %d", o.Rate)
	case o.Traces != "" && (err != nil || traces.Scheme != "http" && traces.Scheme != "https" || traces.Host == ""):
		return usagef("--traces is a URL as http://localhost:4318, not %q", o.Traces)
	case o.OIDC.Issuer == "" && o.OIDC.ClientID+o.OIDC.PublicURL != "":
		return usagef("--oidc-client and --public-url go with --oidc-issuer")
	}
	if _, err := o.keep(); err != nil {
		return err
	}
	for _, h := range o.Hosts {
		if u, err := url.Parse("http://" + h); err != nil || u.Host != h || u.Hostname() == "" {
			return usagef("--host is a name, or name:port, not %q", h)
		}
	}
	return nil
}

// keep reads for how long records are kept; zero is for ever.
func (o *serveOptions) keep() (time.Duration, error) {
	now := time.Now()
	from, err := readTime("--keep", o.Keep, now)
	if err != nil || from.IsZero() {
		return 0, err
	}
	if kept := now.Sub(from); kept >= time.Hour && !strings.ContainsAny(o.Keep, ":-") { // a date stays where it is
		return kept, nil
	}
	return 0, usagef("--keep is an hour at least, such as 90d, not %q", o.Keep)
}

// local tells whether an address is of this machine alone; "" is the socket's.
func local(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return addr == "" || err == nil && server.Loopback(host)
}

func serveRun(ctx context.Context, o *serveOptions) (err error) {
	if os.Getenv("GOGC") == "" {
		// A server's heap is small, and what a request allocates is gone with it: by
		// default a third of a busy server's time would go into collecting it.
		debug.SetGCPercent(400)
	}
	opts, err := o.server()
	if err != nil {
		return err
	}
	var agent *demoAgent
	if o.Demo {
		if agent, err = o.demonstrate(ctx, opts); err != nil {
			return err
		}
	}
	keep, err := o.Store.any(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keep.Close()) }()
	opts.Store = keep
	tcp, socket, hosts, err := o.Listen.Listeners()
	if err != nil {
		return err
	}
	if opts.Hosts = o.answered(hosts); tcp == nil {
		opts.Hosts = nil
	}
	srv, err := server.Open(ctx, *opts)
	if err != nil {
		return err
	}
	defer srv.Close()
	if err := o.greet(ctx, keep, hosts); err != nil {
		return err
	}
	if agent == nil || len(hosts) == 0 {
		return srv.Serve(ctx, tcp, socket)
	}
	ctx, stop := context.WithCancel(ctx)
	var works sync.WaitGroup
	var played error
	works.Go(func() {
		if o.IO.OutTTY {
			played = agent.work(ctx, keep, "http://"+hosts[0])
		} else {
			played = agent.play(ctx, keep, "http://"+hosts[0], o.IO.Out)
			stop()
		}
		if played != nil && ctx.Err() == nil {
			fmt.Fprintln(o.IO.Err, "the sample agent ended:", visible(played.Error()))
		}
	})
	err = srv.Serve(ctx, tcp, socket)
	stop()
	works.Wait()
	if !o.IO.OutTTY {
		err = errors.Join(err, played)
	}
	return err
}

// answered returns the values of Host that the server answers to: where it listens, what --host
// names, and each of them without the port that browsers leave out.
func (o *serveOptions) answered(hosts []string) []string {
	usual := "80"
	if o.Listen.Cert != "" {
		usual = "443"
	}
	out, port := slices.Clone(hosts), ""
	if len(hosts) > 0 {
		_, port, _ = net.SplitHostPort(hosts[0])
	}
	for _, h := range o.Hosts {
		if out = append(out, h); port != "" && !strings.Contains(h, ":") {
			out = append(out, net.JoinHostPort(h, port))
		}
	}
	for _, h := range slices.Clone(out) {
		if name, ok := strings.CutSuffix(h, ":"+usual); ok {
			out = append(out, name)
		}
	}
	return out
}

// server returns the options of the server, without its store and its names.
func (o *serveOptions) server() (*server.Options, error) {
	dialectOptions, err := o.Policy.options()
	if err != nil {
		return nil, err
	}
	dir, err := o.dir(o.Policy.Dir)
	if err != nil {
		return nil, err
	}
	keep, err := o.keep()
	if err != nil {
		return nil, err
	}
	opts := &server.Options{Console: console.New, Keep: keep, Shared: o.Store.shared(), AskTimeout: o.Wait, Rate: o.Rate, Traces: cmp.Or(o.Traces, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")), TLS: o.Listen.Cert != "", Log: slog.New(slog.NewTextHandler(o.IO.Err, nil)),
		Policy: &gate.Files{Names: o.Policy.Files, Dialect: o.Policy.Dialect, Options: dialectOptions, Dir: dir, Serves: true, Getenv: os.Getenv, Mine: true}}
	switch o.World {
	case "auto":
		if local(o.Listen.Addr) {
			opts.World = o.Factory.World
		}
	case "local":
		opts.World = o.Factory.World
	case "none":
	default:
		return nil, usagef("--world takes auto, local or none, not %q", o.World)
	}
	if exe, err := os.Executable(); err == nil {
		opts.Programs = []string{exe}
	}
	if o.OIDC.Issuer != "" {
		o.OIDC.Secret = os.Getenv("OBSTAT_OIDC_SECRET")
		opts.OIDC = &o.OIDC
	}
	if opts.MCP, err = o.guarded(dir); err != nil {
		return nil, err
	}
	if o.Roster != "" {
		roster, err := readRoster(o.Roster)
		if err != nil {
			return nil, err
		}
		opts.Who = func(c *obstat.Call, d *obstat.Decision) approval.Who { return roster.For(c, d) }
		opts.PolicyWho = roster.ForPolicy()
	}
	return opts, nil
}

// guarded returns the servers of --mcp.
func (o *serveOptions) guarded(dir string) ([]mcp.Member, error) {
	if o.MCP == "" {
		return nil, nil
	}
	return members(o.MCP, o.IO.Err, func(name string) (*mcp.Guard, error) { return &mcp.Guard{Name: name, Dir: dir}, mcp.CheckName(name) })
}

// greet says where the server is, and how to log in.
func (o *serveOptions) greet(ctx context.Context, keep server.Store, hosts []string) error {
	scheme := "http"
	if o.Listen.Cert != "" {
		scheme = "https"
	}
	if len(hosts) == 0 {
		fmt.Fprintf(o.IO.Out, "obstat listens on %s\n", o.Listen.Socket)
		return nil
	}
	at := browsed(hosts[0], o.Hosts)
	fmt.Fprintf(o.IO.Out, "obstat listens on %s://%s\n", scheme, hosts[0])
	if no := o.byAgent(o.Store.stored()); no != nil {
		fmt.Fprintf(o.IO.Out, "there is no link to log in with: %s; obstat token login makes one\n", visible(no.Why))
		return nil
	}
	link, err := loginLink(ctx, keep, cmp.Or(strings.TrimSuffix(o.OIDC.PublicURL, "/"), scheme+"://"+at), cmp.Or(o.As, userName()), []string{server.RoleAdmin}, userName()+", who started the server")
	if err != nil {
		return err
	}
	fmt.Fprintf(o.IO.Out, "log in, once and within 15 minutes:\n  %s\n", link)
	fmt.Fprintf(o.IO.Out, "a token for an agent:  obstat token create --agent NAME%s\n", o.Store.again())
	return nil
}

// browsed returns the host and port that a browser goes to, of the address that is listened
// on and the names that were given: 0.0.0.0 is none of them.
func browsed(address string, names []string) string {
	host, port, _ := net.SplitHostPort(address)
	switch ip := net.ParseIP(host); {
	case len(names) > 0 && strings.Contains(names[0], ":"):
		return names[0]
	case len(names) > 0:
		return net.JoinHostPort(names[0], port)
	case host == "" || ip != nil && ip.IsUnspecified():
		return net.JoinHostPort("localhost", port)
	}
	return address
}

func loginLink(ctx context.Context, keep server.Store, base, name string, roles []string, by string) (string, error) {
	key, err := server.NewLogin(ctx, keep, server.Person{Name: name, Roles: roles}, by)
	return base + "/login?key=" + url.QueryEscape(key), err
}

// again returns the flag that names the same store, for another command: without it that would make
// a token in a store that this server does not read. The password of a database is left out.
func (o *storeOptions) again() string {
	path := o.Path
	if path == "" && os.Getenv("XDG_STATE_HOME") != "" { // of a unit, and not of who reads this
		path, _ = o.path()
	}
	if path == "" {
		return ""
	}
	if u, err := url.Parse(path); err == nil && u.User != nil {
		u.User = url.User(u.User.Username())
		path = u.String()
	}
	return " --store " + agent.Quote(visible(path))
}

// any opens the store that is named: a file, or postgres://... .
func (o *storeOptions) any(ctx context.Context) (store.Serving, error) {
	return store.Serve(ctx, o.Path)
}

// tokenOptions are the options of obstat token.
type tokenOptions struct {
	*Factory
	Store storeOptions
	Token client.TokenRequest
	Base  string
	Roles []string
	As    string
	// Machine names a machine whose agents all use the token.
	Machine string
}

func newToken(f *Factory) *cobra.Command {
	cmd := command("token", nil, nil)
	cmd.AddCommand(newTokenCreate(f), newTokenLogin(f))
	return cmd
}

func newTokenCreate(f *Factory) *cobra.Command {
	o := &tokenOptions{Factory: f}
	cmd := command("token create", some(0, 0), func(ctx context.Context, _ []string) error { return tokenRun(ctx, o) })
	o.Store.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.Token.Agent, "agent", "", "`name` of the agent that the token is for")
	fl.StringVar(&o.Machine, "machine", "", "`name` of the machine whose agents all use the token, with obstat join")
	fl.StringVar(&o.As, "person", "", "`name` of the person that the token is for")
	fl.StringArrayVar(&o.Roles, "role", nil, "`role` of the person; admin looks after policies and tokens")
	fl.StringVar(&o.Token.Workspace, "workspace", "", "`directory` that the agent's calls have to be made in")
	fl.StringVar(&o.Token.Dialect, "policy-dialect", "", "`dialect` that the policy in force has to have")
	fl.StringVar(&o.Token.User, "user", "", "`name` of the user that the agent works for, who may not answer where a checker is wanted")
	fl.IntVar(&o.Token.Days, "days", 90, "how many `days` the token holds")
	return cmd
}

func newTokenLogin(f *Factory) *cobra.Command {
	o := &tokenOptions{Factory: f}
	cmd := command("token login", some(0, 0), func(ctx context.Context, _ []string) error { return loginRun(ctx, o) })
	o.Store.flags(cmd)
	cmd.Flags().StringVar(&o.Base, "url", "http://127.0.0.1:8470", "`URL` of the server")
	cmd.Flags().StringVar(&o.As, "as", "", "`name` of the person (default: the user's)")
	cmd.Flags().StringArrayVar(&o.Roles, "role", []string{server.RoleAdmin}, "`role` of the person")
	return cmd
}

func tokenRun(ctx context.Context, o *tokenOptions) error {
	t := o.Token
	switch {
	case t.Agent != "" && o.As+o.Machine == "":
		t.Kind, t.Name = "agent", t.Agent
	case o.Machine != "" && o.As+t.Agent == "":
		t.Kind, t.Name, t.Agent = "agent", o.Machine, client.AnyAgent
	case o.As != "" && o.Machine+t.Agent == "":
		t.Kind, t.Name, t.Roles = "person", o.As, slices.Clone(o.Roles)
	default:
		return usagef("name an --agent, a --machine or a --person")
	}
	if t.Days < 1 {
		return usagef("--days is 1 at least")
	}
	if t.Workspace != "" && !filepath.IsAbs(t.Workspace) {
		return usagef("--workspace is an absolute path")
	}
	who, err := o.meant(o.Store.stored())
	if err != nil {
		return err
	}
	keep, err := o.Store.any(ctx)
	if err != nil {
		return err
	}
	defer keep.Close()
	tok, err := server.NewToken(ctx, keep, t, who.String())
	if err != nil {
		return err
	}
	return o.show(tokenJSON{1, tok}, func(s *screen) {
		s.printf("%s\n", tok.Secret)
		s.printf("for the %s %s until %s; it is shown only now\n", tok.Kind, visible(tok.Name), tok.Expires.Format(time.DateOnly))
	})
}

// tokenJSON is the output of obstat token create --json.
type tokenJSON struct {
	V     int          `json:"v"`
	Token client.Token `json:"token"`
}

func loginRun(ctx context.Context, o *tokenOptions) error {
	who, err := o.meant(o.Store.stored())
	if err != nil {
		return err
	}
	keep, err := o.Store.any(ctx)
	if err != nil {
		return err
	}
	defer keep.Close()
	link, err := loginLink(ctx, keep, strings.TrimSuffix(o.Base, "/"), cmp.Or(o.As, userName()), o.Roles, who.String())
	if err != nil {
		return err
	}
	fmt.Fprintln(o.IO.Out, link)
	return nil
}

// joinOptions are the options of obstat join.
type joinOptions struct {
	*Factory
	Token, Key string
}

func newJoin(f *Factory) *cobra.Command {
	o := &joinOptions{Factory: f}
	cmd := command("join", some(1, 1), func(ctx context.Context, args []string) error { return joinRun(ctx, o, args[0]) })
	cmd.Flags().StringVar(&o.Token, "token", "", "the agent's `token`, of obstat token create (default: OBSTAT_TOKEN)")
	cmd.Flags().StringVar(&o.Key, "key", "", "the server's `key`, where it is known; else the one it shows is accepted now")
	return cmd
}

func joinRun(ctx context.Context, o *joinOptions, url string) error {
	dir, err := statedir.Dir(os.Getenv)
	if err != nil {
		return err
	}
	if _, err := o.meant(dir); err != nil {
		return err
	}
	j, err := remote.Join(ctx, dir, url, cmp.Or(o.Token, os.Getenv("OBSTAT_TOKEN")), o.Key)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.IO.Out, "joined %s; it signs with the key\n  %s\nhooks use it with --server %s\n", visible(j.URL), visible(j.Key), visible(j.URL))
	return nil
}
