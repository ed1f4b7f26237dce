package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/ledger"
)

// build makes the handler: checks that hold for everything, then the routes, then
// the pages.
func (s *Server) build() (http.Handler, error) {
	mux := http.NewServeMux()
	for i := range s.routes {
		rt := &s.routes[i]
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) { s.serveRoute(rt, w, r) })
	}
	mux.HandleFunc("GET /login", s.serveLogin)
	mux.HandleFunc("POST /logout", s.serveLogout)
	missing := s.missing(mux)
	s.shadow(mux, missing)
	if s.opts.OIDC != nil {
		if err := s.mountOIDC(mux); err != nil {
			return nil, err
		}
	}
	if err := s.mountPlay(mux); err != nil {
		return nil, err
	}
	pages := missing
	if s.opts.Console != nil {
		pages = s.pages(s.opts.Console(s.service), pages)
	}
	mux.Handle("/", pages)
	return s.guard(mux), nil
}

// missing tells a program that there is no such route, or none with its method.
func (s *Server) missing(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allow := s.methods(mux, r); allow != "" {
			w.Header().Set("Allow", allow)
			s.problem(w, newProblem(http.StatusMethodNotAllowed, "method", "this route does not take "+r.Method,
				"it takes "+allow))
			return
		}
		s.problem(w, newProblem(http.StatusNotFound, "not-found", "there is no such route", r.Method+" "+r.URL.Path))
	})
}

// served are the methods that routes have.
var served = []string{http.MethodGet, http.MethodPost, http.MethodDelete}

// shadow keeps routes with a parameter from taking the paths of others by methods that those do not have:
// `GET /v1/policies/rollback` is not the version "rollback".
func (s *Server) shadow(mux *http.ServeMux, missing http.Handler) {
	for i := range s.routes {
		path := s.routes[i].path
		if strings.Contains(path, "{") {
			continue
		}
		for _, method := range served {
			_, pattern := mux.Handler(&http.Request{Method: method, URL: &url.URL{Path: path}})
			if strings.Contains(pattern, "{") {
				mux.Handle(method+" "+path, missing)
			}
		}
	}
}

// methods returns the methods that a path is served with; those of a path without parameters are its own.
func (s *Server) methods(mux *http.ServeMux, r *http.Request) string {
	own := slices.ContainsFunc(s.routes, func(rt route) bool { return rt.path == r.URL.Path })
	var out []string
	for _, method := range served {
		_, pattern := mux.Handler(&http.Request{Method: method, Host: r.Host, URL: r.URL})
		known := slices.ContainsFunc(s.routes, func(rt route) bool { return rt.method+" "+rt.path == method+" "+r.URL.Path })
		if pattern != "/" && pattern != "" && (known || !own) {
			out = append(out, method)
		}
	}
	return strings.Join(out, ", ")
}

// guard makes the checks that hold for everything.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = s.behindProxy(r)
		setHeaders(w.Header(), r)
		if s.opts.TLS {
			w.Header()["Strict-Transport-Security"] = strictTransport
		}
		rec := &recorder{ResponseWriter: w, code: http.StatusOK}
		if r.ContentLength != 0 {
			// Before the caller is known: net/http reads the rest of a body before it answers,
			// also where a stranger is told 401.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.bodyLimit)) // a recorder of a test has none
		}
		defer func() {
			v := recover()
			if v != nil && v != http.ErrAbortHandler {
				s.opts.Log.Error("a handler broke", "panic", v, "path", r.URL.Path)
				if !rec.wrote {
					s.problem(rec, newProblem(http.StatusInternalServerError, "broken", "the server broke on this", ""))
				}
			}
			s.metrics.responded(rec.code)
			if v == http.ErrAbortHandler {
				panic(v) // net/http cuts the connection
			}
		}()
		switch {
		case s.opts.Hosts != nil && !bySocket(r) && !slices.Contains(s.opts.Hosts, r.Host):
			s.problem(rec, newProblem(http.StatusMisdirectedRequest, "host", "this server is not called that", "Host: "+r.Host))
		case !queryReads(r):
			s.problem(rec, bad("the query after ? cannot be read: separate parameters by & and write ; as %3B"))
		case fromElsewhere(r):
			s.problem(rec, newProblem(http.StatusForbidden, "origin", "a page of another site may not do that", ""))
		default:
			next.ServeHTTP(rec, r)
		}
	})
}

// queryReads tells whether the query can be read whole: of `?session=x;y` net/http would drop the parameter silently.
func queryReads(r *http.Request) bool {
	if r.URL.RawQuery == "" {
		return true
	}
	_, err := url.ParseQuery(r.URL.RawQuery)
	return err == nil
}

// The values of headers that every answer has; answers share them.
var (
	apiVersion      = []string{client.API}
	noSniff         = []string{"nosniff"}
	noReferrer      = []string{"no-referrer"}
	noFrame         = []string{"DENY"}
	strictTransport = []string{"max-age=31536000"}
	isJSON          = []string{"application/json"}
	noStore         = []string{"no-store"}
	pagePolicy      = []string{"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"}
	dataPolicy      = []string{"default-src 'none'; frame-ancestors 'none'"}
)

// setHeaders sets the headers that every answer has. No browser
// sends a bearer token with a page that it opens, so the answer to one gets the policy of data.
func setHeaders(h http.Header, r *http.Request) {
	h[client.APIHeader], h["X-Content-Type-Options"] = apiVersion, noSniff
	if auth := r.Header["Authorization"]; len(auth) > 0 && strings.HasPrefix(auth[0], "Bearer ") {
		h["Content-Security-Policy"] = dataPolicy
		return
	}
	h["Referrer-Policy"], h["X-Frame-Options"], h["Content-Security-Policy"] = noReferrer, noFrame, pagePolicy
}

// fromElsewhere tells whether a page of another site sent the request. A browser
// says so in Sec-Fetch-Site or Origin, also for a GET.
func fromElsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
	default:
		// A link that is followed from elsewhere opens a page, and nothing more.
		return r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" ||
			r.Header.Get("Sec-Fetch-Dest") != "document"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	_, host, _ := strings.Cut(origin, "://")
	return host != r.Host
}

// A recorder remembers the status of a response.
type recorder struct {
	http.ResponseWriter
	code  int
	wrote bool
}

// WriteHeader writes the status.
func (r *recorder) WriteHeader(code int) {
	if !r.wrote {
		r.code, r.wrote = code, true
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write writes a part of the body.
func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	return r.ResponseWriter.Write(b)
}

// Unwrap lets a ResponseController flush.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// serveRoute checks the caller and the parameters of a request, and serves it.
func (s *Server) serveRoute(rt *route, w http.ResponseWriter, r *http.Request) {
	if s.traces != nil {
		defer s.traces.begin(rt, r, w)()
	}
	if rt.probe {
		rt.serve(s, w, r, &caller{address: addressOf(r)})
		return
	}
	c, err := s.admit(rt.who, r)
	if err != nil && rt.lost && ProblemOf(err).Type == "unavailable" {
		if c = s.auth.before(r, err); c != nil {
			if err = nil; !s.limits.take(c, time.Now()) {
				err = errTooMany
			}
		}
	}
	if err != nil && strings.HasPrefix(rt.path, "/access/v1/") {
		echo(w, r)
		s.failText(w, refusal(w, err))
		return
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	if r.URL.RawQuery != "" {
		for name := range r.URL.Query() {
			if !slices.Contains(rt.query, name) {
				s.fail(w, bad(fmt.Sprintf("there is no parameter %q here", name)))
				return
			}
		}
	}
	rt.serve(s, w, r, c)
}

// admit returns the caller of a request, or why a route is not for it.
func (s *Server) admit(for_ who, r *http.Request) (*caller, error) {
	c, err := s.auth.caller(r)
	if err != nil && !errors.Is(err, errWho) && for_&anybody == 0 { // /healthz needs no store
		return nil, err
	}
	if err != nil || c.agent == nil && c.person == nil {
		if err == nil && bySocket(r) {
			c.agent = &agentID{client.Token{Kind: "agent", Name: "socket"}}
		} else if for_&anybody == 0 {
			if err != nil && !s.limits.take(&caller{address: addressOf(r)}, time.Now()) {
				return nil, errTooMany // guesses are counted; without a secret there is nothing to look up
			}
			return nil, cmp.Or(err, errWho)
		} else {
			c = &caller{address: addressOf(r)}
		}
	}
	if !s.limits.take(c, time.Now()) {
		return nil, errTooMany
	}
	switch {
	case for_&anybody != 0:
	case c.agent != nil && for_&agents == 0:
		return nil, fmt.Errorf("%w: an agent's token cannot do this; a person has to", errForbidden)
	case c.person != nil && for_&(people|admins) == 0:
		return nil, fmt.Errorf("%w: this is for agents", errForbidden)
	case c.person != nil && for_&people == 0 && !c.person.Is(RoleAdmin):
		return nil, fmt.Errorf("%w: it takes the role %s", errForbidden, RoleAdmin)
	}
	if c.cookie && r.Method != http.MethodGet && r.Method != http.MethodHead && !sameSecret(csrfOf(r), c.person.CSRF) {
		return nil, fmt.Errorf("%w: X-CSRF-Token is missing or wrong", errForbidden)
	}
	return c, nil
}

// csrfOf returns the token that a page sends along: in a header, or in a form.
func csrfOf(r *http.Request) string {
	if token := r.Header.Get("X-CSRF-Token"); token != "" {
		return token
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return r.PostFormValue("csrf")
	}
	return ""
}

var errTooMany = errors.New("too many requests")

// refuse tells a caller that it is not known, or too fast.
func (s *Server) refuse(w http.ResponseWriter, err error) { s.fail(w, refusal(w, err)) }

// refusal returns the problem for such a caller, and sets the headers that tell it to log in or wait.
func refusal(w http.ResponseWriter, err error) *client.Problem {
	switch {
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "1")
		return newProblem(http.StatusTooManyRequests, "too-many", "too many requests; slow down", "")
	case errors.Is(err, errWho):
		w.Header().Set("WWW-Authenticate", "Bearer")
		return newProblem(http.StatusUnauthorized, "unauthorized", "log in, or send a token", err.Error())
	}
	return ProblemOf(err)
}

// personKey is the key of the person in the context of a page's request.
type personKey struct{}

// PersonOf returns the person that a page is for.
func PersonOf(ctx context.Context) *Person {
	p, _ := ctx.Value(personKey{}).(*Person)
	return p
}

// maxForm bounds the form of a page.
const maxForm = 2 << 20

// pages serves the console to people with a login. Files below /static/ need none. For an
// address without a page a program gets a problem, and a browser the console's own page.
func (s *Server) pages(console *http.ServeMux, missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, page := console.Handler(r); page == "/" && !strings.Contains(r.Header.Get("Accept"), "text/html") {
			missing.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/static/") {
			console.ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		c, err := s.admit(people, r)
		switch {
		case errors.Is(err, errWho) && r.Method == http.MethodGet:
			s.rememberPage(w, r)
			s.loginPage(w, http.StatusUnauthorized)
		case err != nil:
			s.refuse(w, err)
		default:
			w.Header().Set("Cache-Control", "no-store")
			console.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), personKey{}, c.person)))
		}
	})
}

// loginPage tells a person how to log in.
func (s *Server) loginPage(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	more := ""
	if s.opts.OIDC != nil {
		more = `<p><a class="button" href="/oidc/start">Log in with ` +
			html.EscapeString(cmp.Or(s.opts.OIDC.Name, s.opts.OIDC.Issuer)) + `</a></p>`
	}
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Log in · obstat</title>
<link rel="icon" href="/static/mark.svg"><link rel="stylesheet" href="/static/console.css"><body class="login"><main><div class="card">
<div class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="13" fill="none" stroke="currentColor" stroke-width="3"/><path d="M9.5 16.5l4.5 4.5 8.5-9" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>obstat</div>
<h1>Log in</h1><p>You are not logged in, or your link was used or is too old.</p>%s
<p>Open the link that <code>obstat serve</code> printed when it started, or make a new one with <code>obstat token login</code>.</p></div></main></body></html>`, more)
}

// serveLogin trades the secret of a login link for a cookie. The answer is a
// redirect, so that the secret leaves the history and the Referer.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if key == "" || r.Method != http.MethodGet { // a HEAD, as of a link preview, must not use the key up
		s.loginPage(w, http.StatusOK)
		return
	}
	if !s.limits.take(&caller{address: addressOf(r)}, time.Now()) {
		s.refuse(w, errTooMany)
		return
	}
	p, err := s.auth.trade(r.Context(), key)
	if errors.Is(err, errWho) {
		s.loginPage(w, http.StatusUnauthorized)
		return
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	if err := s.auth.begin(r.Context(), w, r, *p); err != nil {
		s.fail(w, err)
		return
	}
	http.Redirect(w, r, s.rememberedPage(w, r), http.StatusSeeOther)
}

// nextCookie names the page that a person wanted before the login: a request that a chat links to.
const nextCookie = "obstat-next"

// rememberPage keeps the page of a request over the login.
func (s *Server) rememberPage(w http.ResponseWriter, r *http.Request) {
	if isRequestPage(r.URL.Path) {
		http.SetCookie(w, &http.Cookie{Name: nextCookie, Value: r.URL.Path, Path: "/", HttpOnly: true, Secure: s.opts.TLS,
			SameSite: http.SameSiteLaxMode, MaxAge: int(loginLife.Seconds())})
	}
}

// rememberedPage returns the page that a login leads to, and forgets it.
func (s *Server) rememberedPage(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(nextCookie)
	if err != nil || !isRequestPage(cookie.Value) {
		return "/"
	}
	http.SetCookie(w, &http.Cookie{Name: nextCookie, Path: "/", HttpOnly: true, Secure: s.opts.TLS, MaxAge: -1})
	return cookie.Value
}

// isRequestPage tells whether a path is the page of one request, and nothing that a link could smuggle in.
func isRequestPage(path string) bool {
	id, ok := strings.CutPrefix(path, "/requests/")
	return ok && id != "" && len(id) < 100 && strings.Trim(id,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// behindProxy returns a request with the address of the client that a trusted proxy names: the last one in
// X-Forwarded-For that is no trusted proxy itself.
func (s *Server) behindProxy(r *http.Request) *http.Request {
	if len(s.opts.Proxies) == 0 || !s.trusted(addressOf(r)) {
		return r
	}
	var hops []string
	for _, line := range r.Header.Values("X-Forwarded-For") {
		hops = append(hops, strings.Split(line, ",")...)
	}
	for _, hop := range slices.Backward(hops) {
		address, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break // whatever stands before it, nobody who is trusted has said it
		}
		c := *r
		c.RemoteAddr = net.JoinHostPort(address.String(), "0")
		if r = &c; !s.trusted(address.String()) {
			break
		}
	}
	return r
}

// trusted tells whether an address is that of a trusted proxy.
func (s *Server) trusted(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(s.opts.Proxies, func(p netip.Prefix) bool { return p.Contains(ip.Unmap()) })
}

func (s *Server) serveLogout(w http.ResponseWriter, r *http.Request) {
	if _, err := s.admit(people, r); err != nil {
		s.refuse(w, err)
		return
	}
	if err := s.auth.end(r.Context(), w, r); err != nil {
		s.fail(w, err)
		return
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request, _ *caller) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// ready tells why calls cannot be decided and written down now.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := s.store.Docs(ctx, activeKind); err != nil {
		return fmt.Errorf("the store cannot be read: %w", err)
	}
	st := s.gate.Status(ctx)
	if st.Broken != "" {
		return errors.New("the policy: " + firstLine(st.Broken))
	}
	if err := s.gate.Mend(ctx); err != nil {
		return fmt.Errorf("the ledger cannot be written: %w", err)
	}
	return s.writes(ctx)
}

// writes tells why records cannot be written now: where the last of any kind could not be, one that says so is tried.
func (s *Server) writes(ctx context.Context) error {
	st, ok := s.store.(interface{ Failed() error })
	if !ok || st.Failed() == nil {
		return nil
	}
	why := st.Failed()
	err := s.store.Append(ctx, &ledger.Record{Time: time.Now(), Kind: ledger.Damage,
		Reason: ledger.Clip("records could not be written: " + why.Error())})
	if err != nil {
		return fmt.Errorf("the ledger cannot be written: %w", err)
	}
	return nil
}

func (s *Server) serveReady(w http.ResponseWriter, r *http.Request, _ *caller) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	s.probing.Lock() // probes are outside the limits: a flood of them asks the store one at a time
	defer s.probing.Unlock()
	if err := s.ready(r.Context()); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, firstLine(err.Error()))
		return
	}
	fmt.Fprintln(w, "ready")
}

// serveLedger writes records, one a line, and goes on with new ones where the
// client follows.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request, _ *caller) {
	q, err := ledgerQuery(r)
	if err != nil {
		s.fail(w, err)
		return
	}
	follow, err := parameter(r.URL.Query(), "follow", false, "1 or 0", strconv.ParseBool)
	if err != nil {
		s.fail(w, err)
		return
	}
	if err := oneOf(r.URL.Query(), "format", "jsonl", "ocsf"); err != nil {
		s.fail(w, err)
		return
	}
	form := func(rec *ledger.Record) any { return rec }
	if r.URL.Query().Get("format") == "ocsf" {
		form = func(rec *ledger.Record) any { return ocsf(rec) }
	}
	ctl := http.NewResponseController(w)
	begun, at := false, s.newFollower(&q)
	for {
		for rec, err := range s.store.Records(r.Context(), q) {
			switch {
			case err != nil && r.Context().Err() != nil:
				return // the client is gone
			case err != nil && !begun:
				s.fail(w, err)
				return
			case err != nil:
				s.opts.Log.Error("the ledger could not be read", "error", err)
				panic(http.ErrAbortHandler) // an export that just ended would look whole
			}
			if follow && at.again(rec) {
				continue
			}
			_ = ctl.SetWriteDeadline(time.Now().Add(writeLimit))
			beginLines(w, &begun)
			if json.NewEncoder(w).Encode(form(rec)) != nil {
				return
			}
		}
		if beginLines(w, &begun); !follow {
			return
		}
		at.next()
		_ = ctl.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-s.hub.over.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// A follower of the ledger goes on behind the records that it was sent. One chain is followed by its numbers. Replicas
// have chains of their own, which are numbered each by itself and whose records may be committed late: each look goes
// a while back by the time of taking, and skips the records that were sent. A time from the future steers neither.
type follower struct {
	q      *ledger.Query
	chains bool
	sent   map[ledger.Hash]time.Time
	newest time.Time
}

func (s *Server) newFollower(q *ledger.Query) *follower {
	_, chains := s.store.(approval.Hinter) // processes with chains of their own share it
	return &follower{q: q, chains: chains, sent: map[ledger.Hash]time.Time{}, newest: time.Now().Add(-followWindow)}
}

// again tells whether a record was sent before, and remembers it.
func (f *follower) again(r *ledger.Record) bool {
	if !f.chains {
		f.q.After = max(f.q.After, r.Seq)
		return false
	}
	if _, again := f.sent[r.Hash]; again {
		return true
	}
	at, now := r.TakenAt(), time.Now()
	if at.After(now) {
		at = now
	}
	if at.After(f.newest.Add(-followWindow)) {
		f.sent[r.Hash] = at
	}
	return false
}

// next moves the query on to what comes next.
func (f *follower) next() {
	f.q.Limit = 0
	if !f.chains {
		return
	}
	for hash, at := range f.sent {
		if at.Before(f.newest.Add(-followWindow)) {
			delete(f.sent, hash)
		} else if at.After(f.newest) {
			f.newest = at
		}
	}
	if since := f.newest.Add(-followWindow); since.After(f.q.Since) {
		f.q.Since = since
	}
}

// beginLines sets the headers of records, once it is known that they can be read.
func beginLines(w http.ResponseWriter, begun *bool) {
	if !*begun {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Header().Set("Cache-Control", "no-store")
		*begun = true
	}
}

// followWindow is how far the clocks of replicas may differ, and how late a record may
// be committed, for a follower of the ledger to get it.
const followWindow = 30 * time.Second

// ledgerQuery reads the parameters of a query.
func ledgerQuery(r *http.Request) (ledger.Query, error) {
	v := r.URL.Query()
	q := ledger.Query{Kind: ledger.Kind(v.Get("kind")), Agent: v.Get("agent"), Session: v.Get("session"),
		Tool: v.Get("tool"), Verdict: v.Get("verdict"), Rule: v.Get("rule")}
	if err := oneOf(v, "kind", kinds...); err != nil {
		return q, err
	}
	after, err := cursor(v, "after")
	if err != nil {
		return q, err
	}
	q.After = uint64(after)
	if q.Limit, err = number(v, "limit", 0, 1<<30); err != nil {
		return q, err
	}
	if q.Since, err = moment(v, "since"); err != nil {
		return q, err
	}
	q.Until, err = moment(v, "until")
	return q, err
}
