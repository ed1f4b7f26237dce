package confined

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/pattern"
)

//go:embed registries.txt
var registriesText string

// A Found is a host of a registry, and the setting that names it.
type Found struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	From string `json:"from"`
	URL  string `json:"-"` // as it is written there
}

// network adds the hosts that the policy lets code connect to: those that the call is known to reach,
// those that rules name, the machine's own loopback, and, for commands that fetch packages, the
// registries.
func (m *maker) network() error {
	n := &m.profile().Network
	n.Publish = m.out.Stays
	if m.connects("localhost") {
		n.AllLocalhost = true
	}
	var hosts []Found
	for i := range m.Analysis.Effects {
		e := &m.Analysis.Effects[i]
		if e.Kind == effect.Connect && e.Where == "" && e.Host != "" && (!m.Asked || m.connects(e.Host)) {
			hosts = append(hosts, address(e.Host, e.Raw)...)
		}
	}
	for _, host := range m.Hosts {
		if m.connects(host) {
			hosts = append(hosts, Found{Host: host, Port: 443})
		}
	}
	if m.Server != nil {
		for _, host := range m.Server.Connect {
			if d := m.Ask(obstat.FaceConnect, "https://"+host+"/"); !refuses(&d) {
				hosts = append(hosts, Found{Host: host, Port: 443})
			}
		}
	}
	if programs := m.fetching(); len(programs) > 0 {
		whole := m.connects("registries")
		for _, f := range m.registries(programs) {
			if whole || m.connects(f.Host) {
				m.out.Registries, hosts = append(m.out.Registries, f), append(hosts, f)
			}
		}
	}
	m.hosts(hosts)
	if m.Machine.Level == confine.LevelFiles && (len(n.Hosts) > 0 || n.AllLocalhost) {
		*n = confine.Network{}
		m.gap("connections that rules allow", "at level files every host would be open with one; all are closed")
	}
	return nil
}

// Hosts returns the hosts that allow rules of Programs name as they are: candidates, which the policy is
// asked about.
func Hosts(programs []*obstat.Program) (out []string) {
	for _, p := range programs {
		for _, list := range p.Rules {
			for i := range list {
				r := &list[i]
				if r.Verdict != obstat.Allow || r.Pattern.Text == "" {
					continue
				}
				c, err := pattern.Compile(r.Pattern.Flavour, r.Pattern.Text)
				if err != nil {
					continue
				}
				shape := c.Shape()
				host := strings.TrimPrefix(shape.Prefix, "domain:")
				if shape.Exact && aHost.MatchString(host) && !isLoopback(host) && !slices.Contains(out, host) {
					out = append(out, host)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// connects tells whether the policy lets code connect to a host.
func (m *maker) connects(host string) bool {
	d := m.Ask(obstat.FaceConnect, "https://"+host+"/")
	return d.Verdict == obstat.Allow
}

// hosts adds hosts with their ports, each once.
func (m *maker) hosts(found []Found) {
	n := &m.profile().Network
	ports := map[string][]int{}
	for _, f := range found {
		if isLoopback(f.Host) {
			n.AllLocalhost = true
			continue
		}
		ports[f.Host] = append(ports[f.Host], append([]int{80, 443, f.Port}, m.Wish.Ports...)...)
	}
	for host, list := range ports {
		slices.Sort(list)
		n.Hosts = append(n.Hosts, confine.Host{Name: host, Ports: slices.Compact(list)})
	}
	slices.SortFunc(n.Hosts, func(a, b confine.Host) int { return strings.Compare(a.Name, b.Name) })
	if len(n.Hosts) > 0 {
		n.Proxy = m.proxy()
	}
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// proxyVariables name the HTTP proxy of a machine.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

// proxy returns the HTTP proxy through which hosts are reached, "" where there is none.
func (m *maker) proxy() string {
	for _, name := range proxyVariables {
		if u, err := url.Parse(m.Getenv(name)); err == nil && u.Scheme == "http" && u.Host != "" {
			return (&url.URL{Scheme: "http", User: u.User, Host: u.Host}).String()
		}
	}
	return ""
}

// fetching returns the programs of the call that fetch packages. One that is named by a path is taken for the program
// of that name: `.venv/bin/pip install x` can reach no more than `pip install .`, which runs the project's setup.py.
func (m *maker) fetching() (out []string) {
	add := func(a *effect.Analysis) {
		for i := range a.Effects {
			e := &a.Effects[i]
			if e.Kind == effect.Connect && e.Tags.Has(effect.Fetch) && e.Program != "" && !slices.Contains(out, e.Program) {
				out = append(out, e.Program)
			}
		}
	}
	add(m.Analysis)
	for i := range m.Analysis.Commands {
		c := &m.Analysis.Commands[i]
		if rest, ok := strings.CutPrefix(c.Text, c.Path); ok && c.Program != "" && c.Path != c.Program {
			add(effect.AnalyzeCommand(c.Program+rest, &effect.Options{Dir: c.Dir}))
		}
	}
	return out
}

// A source is a line of registries.txt.
type source struct {
	programs   []string
	kind, text string
}

var sources = sync.OnceValue(func() (out []source) {
	var programs []string
	for line := range strings.Lines(registriesText) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch {
		case kind == "" || kind == "#" || rest == "":
		case kind == "for":
			programs = strings.Fields(rest)
		default:
			out = append(out, source{programs, kind, rest})
		}
	}
	return out
})

// registries asks the settings of programs for the hosts that they fetch from.
func (m *maker) registries(programs []string) (out []Found) {
	var last source
	first := 0 // of out, by the lines about the same programs
	for _, s := range sources() {
		if !slices.Equal(s.programs, last.programs) {
			last, first = s, len(out)
		}
		if !slices.ContainsFunc(programs, func(p string) bool { return slices.Contains(s.programs, p) }) {
			continue
		}
		for _, f := range m.read(s, out[first:]) {
			known := func(o Found) bool { return o.Host == f.Host && o.Port == f.Port }
			if !slices.ContainsFunc(out, known) {
				out = append(out, f)
			}
		}
	}
	return out
}

// maxSettings bounds a file of settings.
const maxSettings = 1 << 20

// read returns the addresses of one source; before are those that other lines have led to.
func (m *maker) read(s source, before []Found) (out []Found) {
	add := func(text, from string) {
		for _, a := range addresses(text) {
			a.From = from
			out = append(out, a)
		}
	}
	file := func(name string) {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
			return
		}
		if text, err := os.ReadFile(name); err == nil {
			add(string(text), name)
		}
	}
	switch s.kind {
	case "env":
		add(m.Getenv(s.text), "$"+s.text)
	case "file":
		if name, ok := m.place(s.text); ok {
			file(name)
		}
	case "ask":
		add(m.told(s.text, false), s.text)
	case "fails":
		add(m.told(s.text, true), s.text)
	case "index":
		for _, f := range before {
			at := strings.TrimSuffix(strings.TrimSuffix(f.URL, s.text), "/") + "/" + s.text
			add(m.fetched(at), at)
		}
	}
	return out
}

// fetched returns a small file of a host that the user's own settings name, kept for the day; one that cannot be had is
// tried again in the next minute.
func (m *maker) fetched(at string) string {
	now := time.Now().UTC()
	day, minute := now.Format(time.DateOnly), now.Format("15:04")
	for _, stamp := range []string{day, minute} {
		if text, ok := m.memo.told(at, stamp); ok {
			return text
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	text, err := get(ctx, at)
	if err != nil {
		m.memo.tell(at, minute, "")
		return ""
	}
	m.memo.tell(at, day, text)
	return text
}

func get(ctx context.Context, at string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return "", errors.New(a.Status)
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, maxSettings))
	return string(text), err
}

// patience is how long a program is asked for its settings.
const patience = 5 * time.Second

// told runs a program in / and returns its output, or of one that fails its message. The answer is kept as long as
// the program and the user's settings stay as they are.
func (m *maker) told(command string, fails bool) string {
	name, rest, _ := strings.Cut(command, " ")
	var set []string
	for strings.Contains(name, "=") {
		set = append(set, name)
		name, rest, _ = strings.Cut(rest, " ")
	}
	args := strings.Fields(rest)
	if name == "python3" {
		args = []string{"-c", strings.TrimPrefix(rest, "-c ")}
	}
	path := m.outside().find(name)
	if path == "" || isShim(realOf(path)) {
		return ""
	}
	stamp := stampOf(path, filepath.Join(m.Home, ".npmrc"), filepath.Join(m.Home, ".config/go/env"),
		filepath.Join(m.Home, ".gemrc"), filepath.Join(m.Home, ".cargo/config.toml"))
	if text, ok := m.memo.told(command, stamp); ok {
		return text
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=" + m.Home, "PATH=" + m.Getenv("PATH")}
	for _, name := range []string{"XDG_CONFIG_HOME", "PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME", "CARGO_HOME"} {
		if value := m.Getenv(name); value != "" { // shims find their versions by these
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, set...)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if fails {
		text = said.Bytes()
	} else if err != nil {
		return ""
	}
	m.memo.tell(command, stamp, string(text))
	return string(text)
}

// isShim tells whether a program runs another one from a cache: of `/usr/lib/node_modules/corepack/dist/yarn.js`, the
// yarn that lies in ~/.cache.
func isShim(real string) bool {
	parts := strings.Split(real, "/")
	return slices.ContainsFunc(sources(), func(s source) bool {
		return s.kind == "shim" && slices.Contains(parts, s.text)
	})
}

// stampOf tells files apart by their times and sizes.
func stampOf(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%s %d %d;", name, changeTime(info), info.Size())
		}
	}
	return b.String()
}

var (
	anAddress = regexp.MustCompile(`(?:sparse\+)?https?://[^\s"',;|<>\\)\]}\x60]+`)
	aHost     = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)+$`)
	aSumDB    = regexp.MustCompile(`(?m)^[a-z0-9-]+(\.[a-z0-9-]+)+$`) // GOSUMDB is a bare host
)

// addresses returns the hosts of the addresses in a text.
func addresses(text string) (out []Found) {
	for _, raw := range anAddress.FindAllString(text, 100) {
		out = append(out, address("", strings.TrimPrefix(raw, "sparse+"))...)
	}
	for _, host := range aSumDB.FindAllString(text, 10) {
		out = append(out, Found{Host: host, Port: 443})
	}
	return out
}

// address returns the host and port of a URL; host is it where raw is none.
func address(host, raw string) []Found {
	out := Found{Host: strings.ToLower(strings.TrimSuffix(host, ".")), Port: 443, URL: raw}
	if u, err := url.Parse(raw); err == nil && u.Hostname() != "" {
		out.Host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		if port, err := strconv.Atoi(u.Port()); err == nil {
			out.Port = port
		} else if u.Scheme == "http" {
			out.Port = 80
		}
	}
	if out.Host == "" || strings.ContainsAny(out.Host, "{}$ %") {
		return nil
	}
	return []Found{out}
}
