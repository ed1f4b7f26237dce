package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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
	// RolesClaim is the claim that has the roles of a person; "" is `groups`.
	RolesClaim string
}

// oidcKind is the kind of the documents of logins under way.
const oidcKind = "oidc"

// An attempt is a login under way.
type attempt struct {
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Expires  time.Time `json:"expires"`
}

// mountOIDC adds the routes of a login with the provider.
func (s *Server) mountOIDC(mux *http.ServeMux) error {
	o := s.opts.OIDC
	if o.ClientID == "" || o.PublicURL == "" {
		return errors.New("logging in with a provider needs a client ID and the public URL of this server")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, o.Issuer)
	if err != nil {
		return fmt.Errorf("the OpenID provider: %w", err)
	}
	conf := &oauth2.Config{ClientID: o.ClientID, ClientSecret: o.Secret, Endpoint: provider.Endpoint(),
		RedirectURL: strings.TrimSuffix(o.PublicURL, "/") + "/oidc/callback", Scopes: []string{oidc.ScopeOpenID, "profile",
			"email"}}
	verifier := provider.Verifier(&oidc.Config{ClientID: o.ClientID})
	mux.HandleFunc("GET /oidc/start", s.stranger(func(w http.ResponseWriter, r *http.Request) { s.startOIDC(w, r, conf) }))
	mux.HandleFunc("GET /oidc/callback", s.stranger(func(w http.ResponseWriter, r *http.Request) {
		p, err := s.endOIDC(r, conf, verifier)
		if err != nil {
			s.opts.Log.Warn("a login with the provider failed", "error", err)
			s.loginPage(w, http.StatusUnauthorized)
			return
		}
		if err := s.auth.begin(r.Context(), w, r, *p); err != nil {
			s.fail(w, err)
			return
		}
		// A cookie that is SameSite=Strict is not sent along with a redirect that began
		// at the provider: the page that comes next is opened by our own page.
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Refresh", "0; url=/")
		fmt.Fprint(w, `<!doctype html><title>obstat</title><p>Logged in. <a href="/">Go on</a></p>`)
	}))
	return nil
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
	list, _ := claims[cmp.Or(s.opts.OIDC.RolesClaim, "groups")].([]any)
	for _, v := range list {
		if role, ok := v.(string); ok && !slices.Contains(p.Roles, role) {
			p.Roles = append(p.Roles, role)
		}
	}
	return p, nil
}
