package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/obstat/obstat/internal/keep/docs"
)

// OIDC lets people log in with an OpenID provider.
type OIDC struct {
	Name     string // of the provider, for people; "" is the issuer
	Issuer   string
	ClientID string
	Secret   string
	// PublicURL is the address of this server for browsers: the provider sends them back
	// to its /oidc/callback.
	PublicURL string
	// RolesClaim is the claim that has the groups of a person; "" is `groups`.
	RolesClaim string
	// Roles are the roles of people in a group. A group that is not named here has none, and a person without a role is
	// not let in: an identity provider knows many more people than those who answer agents.
	Roles map[string][]string
}

// oidcKind is the kind of the documents of logins under way.
const oidcKind = "oidc"

// An attempt is a login under way.
type attempt struct {
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Expires  time.Time `json:"expires"`
}

// A provider is the OpenID provider, once it has been reached.
type provider struct {
	o *OIDC

	mu       sync.Mutex
	conf     *oauth2.Config
	verifier *oidc.IDTokenVerifier
}

// get returns the provider's settings. It is asked for them when they are needed first, and again after a failure: a
// server starts, and decides calls, while the provider is away.
func (p *provider) get() (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conf != nil {
		return p.conf, p.verifier, nil
	}
	// The keys are fetched with this context later on, so that it does not end here.
	found, err := oidc.NewProvider(oidc.ClientContext(context.Background(), &http.Client{Timeout: 10 * time.Second}),
		p.o.Issuer)
	if err != nil {
		return nil, nil, fmt.Errorf("the OpenID provider: %w", err)
	}
	p.conf = &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: p.o.Secret, Endpoint: found.Endpoint(),
		RedirectURL: strings.TrimSuffix(p.o.PublicURL, "/") + "/oidc/callback", Scopes: []string{oidc.ScopeOpenID, "profile",
			"email"}}
	p.verifier = found.Verifier(&oidc.Config{ClientID: p.o.ClientID})
	return p.conf, p.verifier, nil
}

// mountOIDC adds the routes of a login with the provider.
func (s *Server) mountOIDC(mux *http.ServeMux) error {
	o := s.opts.OIDC
	if o.ClientID == "" || o.PublicURL == "" {
		return errors.New("logging in with a provider needs a client ID and the public URL of this server")
	}
	p := &provider{o: o}
	mux.HandleFunc("GET /oidc/start", s.stranger(func(w http.ResponseWriter, r *http.Request) {
		conf, _, err := p.get()
		if err != nil {
			s.unreachable(w, err)
			return
		}
		s.startOIDC(w, r, conf)
	}))
	mux.HandleFunc("GET /oidc/callback", s.stranger(func(w http.ResponseWriter, r *http.Request) {
		conf, verifier, err := p.get()
		if err != nil {
			s.unreachable(w, err)
			return
		}
		person, err := s.endOIDC(r, conf, verifier)
		if err != nil {
			s.opts.Log.Warn("a login with the provider failed", "error", err)
			s.loginPage(w, http.StatusUnauthorized)
			return
		}
		if len(person.Roles) == 0 {
			s.opts.Log.Warn("a person without a role was not let in", "person", person.Name)
			s.noRole(w, person.Name)
			return
		}
		if err := s.auth.begin(r.Context(), w, r, *person); err != nil {
			s.fail(w, err)
			return
		}
		http.Redirect(w, r, s.rememberedPage(w, r), http.StatusSeeOther)
	}))
	return nil
}

// unreachable says that the provider is away.
func (s *Server) unreachable(w http.ResponseWriter, err error) {
	s.opts.Log.Warn("nobody can log in with the provider", "error", err)
	w.Header().Set("Retry-After", "10")
	s.words(w, http.StatusServiceUnavailable, "The provider is away",
		"Nobody can log in with it now. Try again, or log in with a link.")
}

// noRole tells a person whom the provider knows that no group of theirs has a role here.
func (s *Server) noRole(w http.ResponseWriter, name string) {
	s.words(w, http.StatusForbidden, "You have no role here",
		"You are "+name+". None of your groups has a role on this server; its administrator maps them with --oidc-role.")
}

// words writes a page without a login.
func (s *Server) words(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	page := `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%[1]s · obstat</title><link rel="stylesheet" href="/static/console.css">
<body class="login"><main><div class="card"><h1>%[1]s</h1><p>%[2]s</p>
<p><a class="button" href="/login">Back</a></p></div></main></body></html>`
	fmt.Fprintf(w, page, html.EscapeString(title), html.EscapeString(text))
}

// stranger bounds how often an address without a token may ask for something: each login
// that begins is kept, and the provider is asked about each that ends.
func (s *Server) stranger(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.limits.take(&caller{address: addressOf(r)}, time.Now()) {
			s.refuse(w, errTooMany)
			return
		}
		serve(w, r)
	}
}

// startOIDC sends the browser to the provider.
func (s *Server) startOIDC(w http.ResponseWriter, r *http.Request, conf *oauth2.Config) {
	state, a := rand.Text(), attempt{Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Expires: time.Now().Add(loginLife)}
	if err := docs.Put(r.Context(), s.store, oidcKind, hashOf(state), 0, a); err != nil {
		s.fail(w, err)
		return
	}
	// The browser that comes back has to be the one that went: it has the state in a cookie.
	http.SetCookie(w, &http.Cookie{Name: "obstat-oidc", Value: state, Path: "/oidc/", HttpOnly: true, Secure: s.opts.TLS,
		SameSite: http.SameSiteLaxMode, MaxAge: int(loginLife.Seconds())})
	http.Redirect(w, r, conf.AuthCodeURL(state, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)),
		http.StatusFound)
}

// endOIDC returns the person who comes back from the provider.
func (s *Server) endOIDC(r *http.Request, conf *oauth2.Config, verifier *oidc.IDTokenVerifier) (*Person, error) {
	state := r.URL.Query().Get("state")
	cookie, err := r.Cookie("obstat-oidc")
	if err != nil || !sameSecret(cookie.Value, state) {
		return nil, errors.New("the answer is not for this browser")
	}
	a, version, err := docs.Get[attempt](r.Context(), s.store, oidcKind, hashOf(state))
	if err != nil || time.Now().After(a.Expires) {
		return nil, errors.New("no such login is under way")
	}
	if err := s.store.PutDoc(r.Context(), &docs.Doc{Kind: oidcKind, ID: hashOf(state), Version: version}); err != nil {
		return nil, err // the answer was used before
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	tok, err := conf.Exchange(ctx, r.URL.Query().Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, err
	}
	raw, _ := tok.Extra("id_token").(string)
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	if !sameSecret(id.Nonce, a.Nonce) {
		return nil, errors.New("the token is of another login")
	}
	return s.personOf(id)
}

// personOf returns the person that a token is about.
func (s *Server) personOf(id *oidc.IDToken) (*Person, error) {
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, err
	}
	// Whether an address is verified does not matter for Names: they only ever make two people one.
	p := &Person{Name: id.Subject, Login: id.Issuer + " " + id.Subject, Names: []string{id.Subject}}
	for _, claim := range []string{"email", "preferred_username"} {
		if name, _ := claims[claim].(string); name != "" {
			p.Names = append(p.Names, name)
		}
	}
	if verified, _ := claims["email_verified"].(bool); verified {
		if email, _ := claims["email"].(string); email != "" {
			p.Name = email
		}
	}
	p.Provider = id.Issuer
	list, _ := claims[cmp.Or(s.opts.OIDC.RolesClaim, "groups")].([]any)
	for _, v := range list {
		if group, _ := v.(string); len(s.opts.OIDC.Roles[group]) > 0 {
			p.Groups = append(p.Groups, group)
		}
	}
	s.opts.OIDC.renew(p)
	return p, nil
}

// renew gives a person who came by the provider the roles that their groups have now. It tells whether the login still
// counts: one of another provider, or without a role, does not; one by a link has its own roles.
func (o *OIDC) renew(p *Person) bool {
	if p.Provider == "" {
		return strings.HasPrefix(p.Login, linkLogin) // else of a version that kept no groups
	}
	p.Roles = nil
	if o == nil || o.Issuer != p.Provider {
		return false
	}
	for _, group := range p.Groups {
		for _, role := range o.Roles[group] {
			if !slices.Contains(p.Roles, role) {
				p.Roles = append(p.Roles, role)
			}
		}
	}
	return len(p.Roles) > 0
}
