package tell

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/smtp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/display"
	"github.com/obstat/obstat/ledger"
)

// A form is how a receiver wants its messages.
type form struct {
	schemes []string
	// body returns a message's body and headers; nil: it is no HTTP.
	body func(r *Receiver, m *message) ([]byte, http.Header, error)
}

// forms are those that are known.
var forms = map[string]form{
	"webhook": {[]string{"https", "http"}, webhook},
	"slack":   {[]string{"https", "http"}, slack},
	"teams":   {[]string{"https", "http"}, teams},
	"discord": {[]string{"https", "http"}, discord},
	"ntfy":    {[]string{"https", "http"}, ntfy},
	"mail":    {[]string{"smtp", "smtps"}, nil},
}

func formNames() []string { return slices.Sorted(maps.Keys(forms)) }

// A message is what a receiver is told.
type message struct {
	title string // in a line
	lines []string
	link  string
	ids   []string
	list  []*approval.Request
	now   time.Time
}

// newMessage words a message. The call is told without its secrets.
func newMessage(base string, list []*approval.Request, now time.Time) *message {
	m := &message{link: base + "/", list: list, now: now}
	for _, r := range list {
		m.ids = append(m.ids, r.ID)
	}
	if len(list) == 1 {
		r := list[0]
		m.title = ledger.ClipTo(display.Visible(orSome(r.Call.Agent)+" asks: "+r.About), 200)
		m.link = base + "/requests/" + url.PathEscape(r.ID)
		if len(r.Effects) > 0 {
			e := r.Effects[0]
			m.lines = append(m.lines, ledger.ClipTo(display.Visible("It would "+e.Kind+" "+e.Target), 200))
		}
		m.lines = append(m.lines, fmt.Sprintf("It waits until %s.", r.Expires.UTC().Format("15:04 UTC")))
		return m
	}
	m.title = fmt.Sprintf("%d requests of agents wait", len(list))
	for _, r := range list[:min(len(list), maxSingle)] {
		m.lines = append(m.lines, ledger.ClipTo(display.Visible(orSome(r.Call.Agent)+": "+r.About), 120))
	}
	return m
}

func orSome(agent string) string {
	if agent == "" {
		return "an agent"
	}
	return agent
}

func asJSON(v any) ([]byte, http.Header, error) {
	body, err := json.Marshal(v)
	return body, http.Header{"Content-Type": {"application/json"}}, err
}

// webhook is our own form, signed: `Obstat-Signature: t=UNIX,v1=HMAC-SHA256 of "UNIX.BODY"`.
func webhook(r *Receiver, m *message) ([]byte, http.Header, error) {
	type request struct {
		ID      string    `json:"id"`
		Agent   string    `json:"agent,omitempty"`
		Session string    `json:"session,omitempty"`
		Tool    string    `json:"tool"`
		About   string    `json:"about"`
		Created time.Time `json:"created"`
		Expires time.Time `json:"expires"`
	}
	out := struct {
		Kind     string    `json:"kind"`
		Title    string    `json:"title"`
		Link     string    `json:"link"`
		Requests []request `json:"requests"`
	}{Kind: "requests.waiting", Title: m.title, Link: m.link}
	for _, q := range m.list {
		out.Requests = append(out.Requests, request{q.ID, q.Call.Agent, q.Call.Session, q.Call.Tool, ledger.ClipTo(q.About,
			500),
			q.Created, q.Expires})
	}
	body, header, err := asJSON(out)
	at := strconv.FormatInt(m.now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(r.secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	header.Set("Obstat-Signature", "t="+at+",v1="+hex.EncodeToString(mac.Sum(nil)))
	return body, header, err
}

// escape keeps texts of agents from being read as markup of Slack: no mention, no link.
var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slack(_ *Receiver, m *message) ([]byte, http.Header, error) {
	text := "*" + escape.Replace(m.title) + "*\n" + escape.Replace(strings.Join(m.lines, "\n")) + "\n<" + m.link +
		"|Look at it>"
	return asJSON(map[string]any{"text": text, "unfurl_links": false})
}

// teams is an adaptive card, as a Workflow of Teams takes it.
func teams(_ *Receiver, m *message) ([]byte, http.Header, error) {
	block := func(text string, bold bool) map[string]any {
		b := map[string]any{"type": "TextBlock", "text": strings.NewReplacer("[", "\\[", "*", "\\*", "_",
			"\\_").Replace(text), "wrap": true}
		if bold {
			b["weight"] = "Bolder"
		}
		return b
	}
	body := []any{block(m.title, true)}
	for _, l := range m.lines {
		body = append(body, block(l, false))
	}
	card := map[string]any{"type": "AdaptiveCard", "version": "1.4", "body": body,
		"actions": []any{map[string]any{"type": "Action.OpenUrl", "title": "Look at it", "url": m.link}}}
	return asJSON(map[string]any{"type": "message", "attachments": []any{
		map[string]any{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}})
}

func discord(_ *Receiver, m *message) ([]byte, http.Header, error) {
	text := m.title + "\n" + strings.Join(m.lines, "\n") + "\n" + m.link
	return asJSON(map[string]any{"content": ledger.ClipTo(text, 1900),
		"allowed_mentions": map[string]any{"parse": []string{}}})
}

func ntfy(r *Receiver, m *message) ([]byte, http.Header, error) {
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Title": {mime.QEncoding.Encode("utf-8",
		m.title)}, "Click": {m.link}}
	if r.secret != "" {
		header.Set("Authorization", "Bearer "+r.secret)
	}
	return []byte(strings.Join(m.lines, "\n")), header, nil
}

const (
	sendLimit = 10 * time.Second
	// maxReply is how much of an answer is read: a receiver has nothing to say.
	maxReply = 64 << 10
)

// send sends a message once.
func (r *Receiver) send(ctx context.Context, base string, list []*approval.Request, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	m := newMessage(base, list, now)
	if r.Form == "mail" {
		return r.mail(ctx, m)
	}
	body, header, err := forms[r.Form].body(r, m)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = header
	req.Header.Set("User-Agent", "obstat")
	resp, err := r.client().Do(req)
	if err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), r.URL, r.Name)) // the address of a webhook is a secret
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", r.Name, resp.Status)
	}
	return nil
}

// client follows no redirect, and calls no address of this machine that is not named.
func (r *Receiver) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: r.dialer().DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: sendLimit, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it redirects; give the address that it leads to")
		}}
}

func (r *Receiver) dialer() *net.Dialer {
	return &net.Dialer{Timeout: 5 * time.Second, Control: func(_, address string,
		_ syscall.RawConn) error {
		return r.mayCall(address)
	}}
}

// mayCall refuses addresses of this machine and of its own link: a name that leads there would let whoever answers for
// the name reach what listens here alone.
func (r *Receiver) mayCall(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if slices.Contains(r.Reach, ip.String()) {
		return nil
	}
	own := ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast()
	if own || ip.IsLinkLocalUnicast() || ofThisMachine(ip) {
		return fmt.Errorf("%s is an address of this machine or of its own link; reach has to name it", ip)
	}
	return nil
}

func ofThisMachine(ip netip.Addr) bool {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(list, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == ip
	})
}

// mail sends a message by SMTP, with TLS where the server has it; a password goes only over TLS.
func (r *Receiver) mail(ctx context.Context, m *message) error {
	u, err := url.Parse(r.URL)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	conn, err := r.dialer().DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end) // a TCP connection has deadlines
	if u.Scheme == "smtps" {
		conn = tls.Client(conn, &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12})
	}
	c, err := smtp.NewClient(conn, u.Hostname())
	if err != nil {
		return err
	}
	defer c.Close()
	if ok, _ := c.Extension("STARTTLS"); ok && u.Scheme == "smtp" {
		if err := c.StartTLS(&tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}); err != nil {
			return err
		}
	}
	if r.secret != "" {
		if err := c.Auth(smtp.PlainAuth("", u.User.Username(), r.secret, u.Hostname())); err != nil {
			return err
		}
	}
	if err := c.Mail(r.From); err != nil {
		return err
	}
	for _, to := range r.Mail {
		if err := c.Rcpt(to); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	head := []string{"From: " + r.From, "To: " + strings.Join(r.Mail, ", "),
		"Subject: " + mime.QEncoding.Encode("utf-8", m.title),
		"Date: " + m.now.Format(time.RFC1123Z), "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", ""}
	text := append(append(head, m.title), append(m.lines, "", m.link, "")...)
	if _, err := io.WriteString(w, strings.Join(text, "\r\n")); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return c.Quit()
}
