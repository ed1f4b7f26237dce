package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/ledger"
)

// A provider is an OpenID provider that lets everybody in as ann.
type provider struct {
	t    *testing.T
	http *httptest.Server
	key  *rsa.PrivateKey

	mu     sync.Mutex
	nonces map[string]string // by code
	change func(claims map[string]any)
}

func newProvider(t *testing.T) *provider {
	p := &provider{t: t, nonces: map[string]string{}}
	var err error
	p.key, err = rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	mux := http.NewServeMux()
	p.http = httptest.NewServer(mux)
	t.Cleanup(p.http.Close)
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"issuer": p.http.URL, "authorization_endpoint": p.http.URL + "/auth", "token_endpoint": p.http.URL + "/token", "jwks_uri": p.http.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k", Algorithm: "RS256", Use: "sig"}}})
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := rand.Text()
		p.mu.Lock()
		p.nonces[code] = q.Get("nonce")
		p.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?code="+code+"&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		claims := map[string]any{"iss": p.http.URL, "aud": "obstat", "sub": "4711", "email": "ann@example.com", "email_verified": true, "groups": []string{"dev"},
			"nonce": p.nonces[r.PostFormValue("code")], "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
		if p.change != nil {
			p.change(claims)
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
		if err != nil {
			p.t.Error(err)
		}
		id, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			p.t.Error(err)
		}
		reply(w, map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": id})
	})
	return p
}

// TestOIDC: people log in with a provider; a token for somebody else, of another
// login, too old or with an answer of another browser lets nobody in.
func TestOIDC(t *testing.T) {
	p := newProvider(t)
	s := open(t, func(o *server.Options) {
		o.Who = func(*obstat.Call, *obstat.Decision) approval.Who { return approval.Who{Needed: 2} }
		o.OIDC = &server.OIDC{Issuer: p.http.URL, ClientID: "obstat", Secret: "x", PublicURL: "http://" + o.Hosts[0], Roles: map[string][]string{"dev": {"dev"}, "admin": {"admin"}}}
	})
	login := func(change func(map[string]any)) (int, *http.Client) {
		p.mu.Lock()
		p.change = change
		p.mu.Unlock()
		jar, err := cookiejar.New(nil)
		must(t, err)
		browser := &http.Client{Jar: jar}
		resp, err := browser.Get(s.http.URL + "/oidc/start")
		must(t, err)
		resp.Body.Close()
		return resp.StatusCode, browser
	}
	code, browser := login(nil) // it leads to the inbox, which this server does not have
	resp, err := browser.Get(s.http.URL + "/v1/me")
	must(t, err)
	var me map[string]any
	must(t, json.NewDecoder(resp.Body).Decode(&me))
	resp.Body.Close()
	if code != 404 || me["name"] != "ann@example.com" || me["kind"] != "person" || me["csrf"] == "" {
		t.Errorf("%d %v", code, me)
	}
	// Whoever logs in is the subject, and the names that the provider has for it.
	records := s.records(ledger.Access)
	if last := records[len(records)-1]; last.Verdict != "login" || last.User != "ann@example.com" || !strings.Contains(string(last.Detail), `"login":"`+p.http.URL+` 4711"`) || !strings.HasSuffix(last.Reason, "with the roles dev") {
		t.Errorf("%+v %s", last, last.Detail)
	}
	for name, change := range map[string]func(map[string]any){
		"for another client": func(c map[string]any) { c["aud"] = "other" },
		"of another issuer":  func(c map[string]any) { c["iss"] = "https://evil.example" },
		"of another login":   func(c map[string]any) { c["nonce"] = "x" },
		"too old":            func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
	} {
		if code, _ := login(change); code != 401 {
			t.Errorf("%s: %d", name, code)
		}
	}
	twoByProvider(t, s, p)
	if code, _ := s.do("", "GET", "/oidc/callback?code=x&state=y", ""); code != 401 {
		t.Errorf("an answer without a question: %d", code)
	}
	if _, page := s.do("", "GET", "/login", ""); !strings.Contains(page, "/oidc/start") {
		t.Error(page)
	}
}

// twoByProvider: one subject with another address is one person, and a link to its name as well; two
// subjects are two.
func twoByProvider(t *testing.T, s *site, p *provider) {
	id := s.decide("make", "").Request.ID
	as := func(change func(map[string]any)) *browser {
		p.mu.Lock()
		p.change = change
		p.mu.Unlock()
		return s.visit("/oidc/start")
	}
	for _, tt := range []struct {
		name string
		who  *browser
		code int
		ends string
	}{
		{"the first", as(nil), 200, "pending"},
		{"with another address", as(func(c map[string]any) { c["email"] = "ann@new.example" }), 403, ""},
		{"with no address", as(func(c map[string]any) { delete(c, "email") }), 403, ""},
		{"by a link", s.browser("ann@example.com"), 403, ""},
		{"another subject", as(func(c map[string]any) { c["sub"], c["email"] = "4712", "bob@example.com" }), 200, "approved"},
	} {
		if code, body := tt.who.do("POST", "/v1/requests/"+id+"/answer", `{"allow":true}`); code != tt.code || !strings.Contains(body, tt.ends) {
			t.Errorf("%s: %d %s", tt.name, code, body)
		}
	}
}
