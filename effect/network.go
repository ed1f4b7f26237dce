package effect

import (
	"net/netip"
	"strings"

	"github.com/obstat/obstat/effect/kb"
	"github.com/obstat/obstat/shell"
)

func (c *call) connect(host string, w *shell.Word, harmless bool) {
	e := c.newEffect(Connect, w)
	e.Host, e.Harmless = host, harmless
	c.a.effect(e)
}

// hostOf takes the host out of user@host:port.
func hostOf(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") {
		if i := strings.IndexByte(s, ']'); i > 0 {
			return s[1:i]
		}
	}
	if _, err := netip.ParseAddr(s); err == nil {
		return s // of IPv6
	}
	if i := strings.IndexByte(s, ':'); i >= 0 {
		s = s[:i]
	}
	return s
}

// urlHost takes scheme and host out of a URL.
func urlHost(s string) (scheme, host string) {
	if i := strings.Index(s, "://"); i >= 0 {
		scheme, s = strings.ToLower(s[:i]), s[i+3:]
	}
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	return scheme, hostOf(s)
}

// url is an address that is fetched from or sent to.
func (c *call) url(w *shell.Word) {
	scheme, host := urlHost(w.Text)
	if scheme == "file" {
		v := after(w, len("file://"))
		c.readFile(&v, true)
		return
	}
	c.connect(host, w, false)
	if metadataHosts().Has(host) {
		c.a.an.Effects[len(c.a.an.Effects)-1].Secret = true
	}
}

var metadataHosts = kb.Table("!metadata-hosts")

// via is a text with addresses in a notation of the program's own: `80:h.example:443`, `me@a.example,b.example`.
func (c *call) via(w *shell.Word) {
	if !w.Known {
		c.gap(DynamicOperand, "where it connects is known only at run time", w)
	}
	for _, host := range hostsIn(w.Text) {
		c.connect(host, w, false)
	}
}

// hostsIn returns the parts of a text that are hosts.
func hostsIn(text string) (out []string) {
	if i := strings.Index(text, "://"); i >= 0 {
		text = text[i+3:]
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(":,@/[] +", r) }) {
		if hostShaped(part) || thisMachine(part) {
			out = append(out, part)
		}
	}
	return out
}

var netSchemes = kb.Table("!url-schemes")

// webHost returns the host of an address in a text: `docker://h.example/x`, `--url=https://h.example`.
func webHost(text string) (host string, ok bool) {
	i := strings.Index(text, "://")
	if i <= 0 || len(text) > maxPattern {
		return "", false
	}
	notScheme := func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '+') }
	scheme := strings.ToLower(text[:i])
	if !netSchemes().Has(scheme[strings.LastIndexFunc(scheme, notScheme)+1:]) {
		return "", false
	}
	_, host = urlHost(text[i-1:])
	return strings.Trim(host, `'"`), host != ""
}

// mayConnect adds that a command may connect to the host that a word names at a place of which nothing is said:
// `lynx http://h.example`.
func (c *call) mayConnect(w *shell.Word) bool {
	host, ok := webHost(w.Text)
	if ok && c.f.where == "" {
		e := c.newEffect(Connect, w)
		e.Host, e.Certain = host, false
		c.a.effect(e)
	}
	return ok
}

// transfer is a local file or host:file.
func (c *call) transfer(r role, w *shell.Word) {
	if host, ok := remotePath(w.Text); ok {
		e := c.newEffect(Connect, w)
		e.Host, e.Detail = host, "transfer"
		c.a.effect(e)
		return
	}
	if r == roleFrom {
		c.readFile(w, true)
		return
	}
	c.changeFile(Write, w)
}

// remotePath recognises host:path, host::module and rsync://host.
func remotePath(s string) (string, bool) {
	if strings.Contains(s, "://") {
		_, host := urlHost(s)
		return host, true
	}
	i := strings.IndexByte(s, ':')
	if i <= 0 || strings.IndexByte(s[:i], '/') >= 0 {
		return "", false
	}
	return hostOf(s[:i]), true
}

// data is a request body: @file sends a file.
func (c *call) data(r role, w *shell.Word) {
	v := *w
	if r == roleForm {
		i := strings.IndexByte(w.Text, '=')
		if i < 0 {
			return
		}
		v = after(w, i+1)
	}
	file := strings.HasPrefix(v.Text, "@") || strings.HasPrefix(v.Text, "<") && r == roleForm
	if file && (len(v.Text) > 1 || !v.Known) {
		f := after(&v, 1)
		if i := strings.IndexAny(f.Text, ",;"); i > 0 && r == roleForm {
			f.Text = f.Text[:i]
		}
		c.readFile(&f, true)
	}
	if !w.Known {
		c.gap(DynamicOperand, "what is sent is known only at run time", w)
	}
	c.sends("sends data", w)
}

// sends adds that a command sends w. Where to, its address says: `curl -X POST -d a=b http://localhost/x`.
func (c *call) sends(detail string, w *shell.Word) {
	e := c.newEffect(Connect, w)
	e.Detail, e.Tags = detail, e.Tags|Sent
	c.a.effect(e)
}

var httpReads = kb.Table("!http-reads")

// method is an HTTP method: all but a few change something.
func (c *call) method(w *shell.Word) {
	if w.Known && httpReads().Has(strings.ToUpper(w.Text)) {
		return
	}
	c.sends(strings.ToUpper(w.Text), w)
	if strings.EqualFold(w.Text, "DELETE") { // `curl -X DELETE http://localhost:9200/_all`
		c.destroy()
	}
}

// MayBeHost returns the host that a part of a word may name, "" if it is none: `h.example` of `//h.example/x` and
// `h.example:443`.
func MayBeHost(part string) string {
	if !strings.ContainsAny(part, ".:") { // a name without a dot is told from a word by nothing
		return ""
	}
	part = strings.TrimLeft(part, "/")
	if i := strings.IndexByte(part, '/'); i >= 0 {
		part = part[:i]
	}
	host := strings.ToLower(strings.TrimSuffix(hostOf(part), "."))
	if !hostShaped(host) {
		return ""
	}
	return host
}

// thisMachine reports whether a login goes nowhere: `ssh me@localhost`.
func thisMachine(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
