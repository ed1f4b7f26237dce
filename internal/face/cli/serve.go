package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/dialect"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/console"
	"github.com/obstat/obstat/internal/face/mcp"
	"github.com/obstat/obstat/internal/face/remote"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/face/tell"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/keep/statedir"
	"github.com/obstat/obstat/shell"
	"github.com/obstat/obstat/store"
)

// serveOptions are the options of obstat serve.
type serveOptions struct {
	*Factory
	Policy    policyOptions
	Store     storeOptions
	Addr      string        `flag:"addr"`
	Socket    string        `flag:"socket"`
	Cert      string        `flag:"tls-cert"`
	Key       string        `flag:"tls-key"`
	Hosts     []string      `flag:"host"`
	Roster    string        `flag:"roster"`
	Wait      time.Duration `flag:"ask-timeout"`
	As        string        `flag:"as"`
	World     string        `flag:"world" words:"auto local none"`
	Rate      int           `flag:"rate"`
	Traces    string        `flag:"traces"`
	OTLP      string        `flag:"otlp"`
	Keep      string        `flag:"keep"`
	Issuer    string        `flag:"oidc-issuer"`
	ClientID  string        `flag:"oidc-client"`
	PublicURL string        `flag:"public-url"`
	RoleOf    []string      `flag:"oidc-role"`
	Proxies   []string      `flag:"trusted-proxy"`
	Notify    string        `flag:"notify"`
	LogFormat string        `flag:"log-format" words:"text json"`
	LogLevel  string        `flag:"log-level" words:"debug info warn error"`
	Recount   bool          `flag:"recount"`
	MCP       string        `flag:"mcp"`
	Demo      bool          `flag:"demo"`
	Play      string        `flag:"play"`

	roster atomic.Pointer[approval.Roster]
	header http.Header // for the collector
}

func newServe(f *Factory) *cobra.Command {
	o := &serveOptions{Factory: f, Addr: "127.0.0.1:8470", Wait: 10 * time.Minute, World: "auto", Rate: 5000,
		LogFormat: "text", LogLevel: "info"}
	return command("serve", some(0, 0), o, untilInterrupt(func(ctx context.Context, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		return o.run(ctx, args)
	}))
}

// isCollector tells whether a text is the address of a collector, or of none.
func isCollector(text string) bool {
	u, err := url.Parse(text)
	return text == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// collectorHeader reads the headers that OpenTelemetry's variable names: `api-key=secret,tenant=a%20b`.
func collectorHeader(text string) (http.Header, error) {
	out := http.Header{}
	for _, pair := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if pair == "" {
			continue
		}
		said, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" {
			return nil, usagef("OTEL_EXPORTER_OTLP_HEADERS has name=value pairs with commas between them")
		}
		out.Add(name, said)
	}
	return out, nil
}

// check refuses flags that mean nothing.
func (o *serveOptions) check() error {
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return usagef("--tls-cert and --tls-key go together")
	case o.Addr == "" && o.Socket == "":
		return usagef("there is nowhere to listen: give --addr or --socket")
	case o.Wait <= 0:
		return usagef("--ask-timeout is a time from now on, not %s", o.Wait)
	case o.Rate <= 0:
		return usagef("--rate is 1 at least, not %d", o.Rate)
	case !isCollector(o.Traces):
		return usagef("--traces is a URL as http://localhost:4318, not %q", o.Traces)
	case !isCollector(o.OTLP):
		return usagef("--otlp is a URL as http://localhost:4318, not %q", o.OTLP)
	case o.Issuer == "" && o.ClientID+o.PublicURL != "":
		return usagef("--oidc-client and --public-url go with --oidc-issuer")
	}
	if _, err := o.keep(); err != nil {
		return err
	}
	var err error
	if o.header, err = collectorHeader(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")); err != nil {
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

func (o *serveOptions) run(ctx context.Context, _ []string) (err error) {
	if err := o.Store.named(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		// A server's heap is small, and the memory of a request is free after it: by
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
	tcp, socket, hosts, err := (&server.Listening{Addr: o.Addr, Socket: o.Socket, Cert: o.Cert, Key: o.Key}).Listeners()
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP) // from here on it does not end the process
	defer func() { signal.Stop(hup); close(hup) }()
	if opts.Hosts = o.answered(hosts); tcp == nil {
		opts.Hosts = nil
	}
	srv, err := server.Open(ctx, *opts)
	if err != nil {
		return err
	}
	go o.onHangup(hup, opts.Log, srv.Tell)
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

// answered returns the values of Host that the server answers to: where it listens, the names
// of --host, and each of them without the port that browsers leave out.
func (o *serveOptions) answered(hosts []string) []string {
	usual := "80"
	if o.Cert != "" {
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
	log, err := o.logger()
	if err != nil {
		return nil, err
	}
	opts := &server.Options{Console: console.New, Recount: o.Recount, Keep: keep, Shared: o.Store.shared(),
		AskTimeout: o.Wait, Rate: o.Rate, Play: o.Play, OTLP: o.OTLP, OTLPHeader: o.header,
		Traces: cmp.Or(o.Traces, os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")), TLS: o.Cert != "",
		Log: log,
		Policy: &gate.Files{Names: o.Policy.Files, Dialect: o.Policy.Dialect, Options: dialectOptions, Dir: dir,
			Serves: true, Getenv: os.Getenv, Mine: true}}
	switch o.World {
	case "auto":
		if local(o.Addr) {
			opts.World = o.Factory.World
		}
	case "local":
		opts.World = o.Factory.World
	case "none":
	default:
		return nil, usagef("--world takes auto, local or none, not %q", o.World)
	}
	if opts.World != nil {
		o.ownChanges(opts)
	}
	if exe, err := os.Executable(); err == nil {
		opts.Programs = []string{exe}
	}
	if o.Issuer != "" {
		opts.OIDC = &server.OIDC{Issuer: o.Issuer, ClientID: o.ClientID, PublicURL: o.PublicURL,
			Secret: os.Getenv("OBSTAT_OIDC_SECRET"), Roles: map[string][]string{}}
		for _, text := range o.RoleOf {
			group, role, ok := strings.Cut(text, "=")
			if !ok || group == "" || role == "" {
				return nil, usagef("--oidc-role is GROUP=ROLE, not %q", text)
			}
			opts.OIDC.Roles[group] = append(opts.OIDC.Roles[group], role)
		}
		if len(o.RoleOf) == 0 {
			return nil, usagef("--oidc-issuer needs --oidc-role GROUP=ROLE: nobody is let in without a role")
		}
	}
	for _, text := range o.Proxies {
		p, err := readProxy(text)
		if err != nil {
			return nil, err
		}
		opts.Proxies = append(opts.Proxies, p)
	}
	if opts.Tell, err = o.notify(); err != nil {
		return nil, err
	}
	if opts.MCP, err = o.guarded(dir); err != nil {
		return nil, err
	}
	if o.Roster != "" {
		roster, err := readRoster(o.Roster)
		if err != nil {
			return nil, err
		}
		o.roster.Store(&roster)
		opts.Who = func(c *obstat.Call, d *obstat.Decision) approval.Who { return o.roster.Load().For(c, d) }
		opts.PolicyWho = roster.ForPolicy()
	}
	return opts, nil
}

// guarded returns the servers of --mcp.
func (o *serveOptions) guarded(dir string) ([]mcp.Member, error) {
	if o.MCP == "" {
		return nil, nil
	}
	return members(o.MCP, o.IO.Err, func(name string) (*mcp.Guard, error) {
		return &mcp.Guard{Name: name, Dir: dir},
			mcp.CheckName(name)
	})
}

// greet says where the server is, and how to log in.
func (o *serveOptions) greet(ctx context.Context, keep server.Store, hosts []string) error {
	scheme := "http"
	if o.Cert != "" {
		scheme = "https"
	}
	if len(hosts) == 0 {
		fmt.Fprintf(o.IO.Out, "obstat listens on %s\n", o.Socket)
		return nil
	}
	at := browsed(hosts[0], o.Hosts)
	fmt.Fprintf(o.IO.Out, "obstat listens on %s://%s\n", scheme, hosts[0])
	if !o.IO.OutTTY && !o.Demo && o.known(ctx, keep) {
		// A log is read by more people than those who may log in: the link is for the first login alone.
		fmt.Fprintf(o.IO.Out, "log in with a link: obstat token login --role admin%s\n", o.Store.again())
		return nil
	}
	if no := o.byAgent(o.Store.stored()); no != nil {
		fmt.Fprintf(o.IO.Out, "there is no link to log in with: %s; obstat token login makes one\n", visible(no.Why))
		return nil
	}
	link, err := loginLink(ctx, keep, cmp.Or(strings.TrimSuffix(o.PublicURL, "/"), scheme+"://"+at),
		cmp.Or(o.As, userName()), []string{server.RoleAdmin}, userName()+", who started the server")
	if err != nil {
		return err
	}
	fmt.Fprintf(o.IO.Out, "log in, once and within 15 minutes:\n  %s\n", link)
	fmt.Fprintf(o.IO.Out, "a token for an agent:  obstat token create --agent NAME%s\n", o.Store.again())
	return nil
}

// known tells whether people can log in already, or servers share the store: then no link is printed.
func (o *serveOptions) known(ctx context.Context, keep server.Store) bool {
	if o.Store.shared() || o.Issuer != "" {
		return true
	}
	return server.LoggedIn(ctx, keep)
}

// readProxy reads an address or a range of addresses.
func readProxy(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, usagef("--trusted-proxy is an address or a range, as 10.0.0.0/8, not %q", text)
	}
	return netip.PrefixFrom(ip, ip.BitLen()), nil
}

// notify reads the file of --notify.
func (o *serveOptions) notify() (*tell.Config, error) {
	if o.Notify == "" {
		return nil, nil
	}
	data, err := read(o.Notify)
	if err != nil {
		return nil, err
	}
	out := new(tell.Config)
	n, problems := jsonx.Parse(data, jsonx.JSONC())
	if !tree.Fatal(problems) {
		problems = append(problems, n.Decode(data, out)...)
	}
	f := dialect.File{Name: o.Notify, Data: data}
	if err := f.Problems(problems).Fatal(); err != nil {
		return nil, err
	}
	if out.URL == "" {
		out.URL = o.PublicURL
	}
	if err := out.Check(os.Getenv); err != nil {
		return nil, usagef("%s: %v", o.Notify, err)
	}
	return out, nil
}

// logger returns the log of the server: lines of text or JSON, of which many equal ones are one.
func (o *serveOptions) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmp.Or(o.LogLevel, "info"))); err != nil {
		return nil, usagef("--log-level takes debug, info, warn or error, not %q", o.LogLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch o.LogFormat {
	case "text", "":
		return slog.New(server.Sample(slog.NewTextHandler(o.IO.Err, opts))), nil
	case "json":
		return slog.New(server.Sample(slog.NewJSONHandler(o.IO.Err, opts))), nil
	}
	return nil, usagef("--log-format takes text or json, not %q", o.LogFormat)
}

// onHangup reads the files of --roster and --notify again at each SIGHUP. Certificates and policies are read again by
// themselves.
func (o *serveOptions) onHangup(hup <-chan os.Signal, log *slog.Logger, use func(*tell.Config)) {
	for range hup {
		if err := o.reload(use); err != nil {
			log.Error("told to reload, and a file cannot be read: those before stay in force", "error", err)
			continue
		}
		log.Info("told to reload: the roster and the receivers of notifications were read again")
	}
}

// reload takes both files or neither.
func (o *serveOptions) reload(use func(*tell.Config)) error {
	conf, err := o.notify()
	if err != nil {
		return err
	}
	if o.Roster != "" {
		roster, err := readRoster(o.Roster)
		if err != nil {
			return err
		}
		o.roster.Store(&roster)
	}
	use(conf)
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
	if path == "" && os.Getenv("XDG_STATE_HOME") != "" { // of a unit, not of the person who reads this
		path, _ = o.path()
	}
	if path == "" {
		return ""
	}
	if u, err := url.Parse(path); err == nil && u.User != nil {
		u.User = url.User(u.User.Username())
		path = u.String()
	}
	return " --store " + shell.Quote(visible(path))
}

// any opens the store that is named: a file, or postgres://... .
func (o *storeOptions) any(ctx context.Context) (store.Serving, error) {
	return store.Serve(ctx, o.Path)
}

// tokenOptions are the options of obstat token.
type tokenOptions struct {
	*Factory
	Store     storeOptions
	Agent     string   `flag:"agent"`
	Machine   string   `flag:"machine"` // whose agents all use the token
	As        string   `flag:"person as"`
	Roles     []string `flag:"role"`
	Workspace string   `flag:"workspace"`
	Dialect   string   `flag:"policy-dialect"`
	User      string   `flag:"user"`
	Vouch     bool     `flag:"vouch"`
	Days      int      `flag:"days"`
	Base      string   `flag:"url"`
}

func newToken(f *Factory) *cobra.Command {
	cmd := command("token", nil, nil, nil)
	made := &tokenOptions{Factory: f, Days: 90}
	login := &tokenOptions{Factory: f, Base: "http://127.0.0.1:8470"}
	cmd.AddCommand(command("token create", some(0, 0), made, made.create),
		command("token login", some(0, 0), login, login.login))
	return cmd
}

func (o *tokenOptions) create(ctx context.Context, _ []string) error {
	t := client.TokenRequest{Agent: o.Agent, Workspace: o.Workspace, Dialect: o.Dialect, User: o.User, Vouches: o.Vouch,
		Days: o.Days}
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
	who, keep, err := o.store(ctx)
	if err != nil {
		return err
	}
	defer keep.Close()
	tok, err := server.NewToken(ctx, keep, t, who)
	if err != nil {
		return err
	}
	return o.show(tokenJSON{1, tok}, func(s *screen) {
		s.printf("%s\n", tok.Secret)
		s.printf("for the %s %s until %s; it is shown only now\n", tok.Kind, visible(tok.Name),
			tok.Expires.Format(time.DateOnly))
	})
}

// store opens the store for a person, whose words it returns.
func (o *tokenOptions) store(ctx context.Context) (string, store.Serving, error) {
	if err := o.Store.named(); err != nil {
		return "", nil, err
	}
	who, err := o.meant(o.Store.stored())
	if err != nil {
		return "", nil, err
	}
	keep, err := o.Store.any(ctx)
	return who.String(), keep, err
}

// tokenJSON is the output of obstat token create --json.
type tokenJSON struct {
	V     int          `json:"v"`
	Token client.Token `json:"token"`
}

func (o *tokenOptions) login(ctx context.Context, _ []string) error {
	if len(o.Roles) == 0 {
		return usagef("name a --role: admin looks after policies and tokens, any other is yours to choose")
	}
	who, keep, err := o.store(ctx)
	if err != nil {
		return err
	}
	defer keep.Close()
	link, err := loginLink(ctx, keep, strings.TrimSuffix(o.Base, "/"), cmp.Or(o.As, userName()), o.Roles, who)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.IO.Out, link)
	return nil
}

// joinOptions are the options of obstat join.
type joinOptions struct {
	*Factory
	Token string `flag:"token"`
	Key   string `flag:"key"`
}

func newJoin(f *Factory) *cobra.Command {
	o := &joinOptions{Factory: f}
	return command("join", some(1, 1), o, o.run)
}

func (o *joinOptions) run(ctx context.Context, args []string) error {
	dir, err := statedir.Dir(os.Getenv)
	if err != nil {
		return err
	}
	if _, err := o.meant(dir); err != nil {
		return err
	}
	j, err := remote.Join(ctx, dir, args[0], cmp.Or(o.Token, os.Getenv("OBSTAT_TOKEN")), o.Key)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.IO.Out, "joined %s; it signs with the key\n  %s\nhooks use it with --server %s\n", visible(j.URL),
		visible(j.Key), visible(j.URL))
	return nil
}
