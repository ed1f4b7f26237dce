package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
)

// The beginnings of tokens, so that one cannot be taken for another kind.
const (
	agentPrefix  = "oba_"
	personPrefix = "obp_"
)

// The kinds of documents that callers are known by.
const (
	tokenKind   = "token"
	loginKind   = "login"
	sessionKind = "session"
)

// The roles that the server itself knows.
const (
	// RoleAdmin may look after policies and tokens.
	RoleAdmin = "admin"
)

// linkLogin begins the Login of a person who came by a link.
const linkLogin = "link "

// An agentID is an agent that a token, or the socket, speaks for.
type agentID struct{ token client.Token }

// A Person is known by a token or a session.
type Person struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles,omitempty"`
	// CSRF has to come with everything that a page changes; "" for a token, which
	// no browser sends by itself.
	CSRF string `json:"csrf,omitempty"`
	// Login is the identity that the person has logged in with: `link ann`, or the issuer and the
	// subject of an OpenID provider. "" for a token, which makes no second person where two have to
	// agree; see [approval.Answer].
	Login string `json:"login,omitempty"`
	// Names are other names of the same person there.
	Names []string `json:"names,omitempty"`
	// Provider is the issuer that the login is of, and Groups the groups that it told: which roles they have is looked up
	// at each request, so that a role which the configuration takes back is gone at once. "" for a link.
	Provider string   `json:"provider,omitempty"`
	Groups   []string `json:"groups,omitempty"`
}

// Is tells whether the person has a role.
func (p *Person) Is(role string) bool {
	return slices.Contains(p.Roles, role)
}

// A caller sent a request. It is an agent or a person, never both.
type caller struct {
	agent   *agentID
	person  *Person
	cookie  bool // the person is known by a cookie, which a browser sends by itself
	address string
	named   string // for limits, where it is known already
	// lost says why the store could not be read: the caller is taken from memory, and gets
	// denials and metrics alone.
	lost error
}

// id names the caller, for limits.
func (c *caller) id() string {
	switch {
	case c.named != "":
		return c.named
	case c.agent != nil:
		return "agent " + cmp.Or(c.agent.token.ID, c.agent.token.Name)
	case c.person != nil:
		return "person " + c.person.Name
	}
	return "address " + c.address
}

// A session is a person's login with a browser.
type session struct {
	ID      string    `json:"id,omitempty"` // ties the records of its beginning and its end together
	Person  Person    `json:"person"`
	Expires time.Time `json:"expires"`
}

// A login is a link that logs a person in, once.
type login struct {
	Person  Person    `json:"person"`
	Expires time.Time `json:"expires"`
}

const (
	maxDays     = 3650 // of a token
	sessionLife = 12 * time.Hour
	loginLife   = 15 * time.Minute
	// known is how long a token or session is not looked up again: so long may one
	// still be used after it was taken back.
	known = time.Second
	// maxKnown bounds how many are remembered.
	maxKnown = 10_000
)

// auth finds the callers of requests.
type auth struct {
	store Store
	tls   bool
	oidc  *OIDC // nil: people log in by links alone

	mu    sync.Mutex
	known map[secretHash]remembered
}

// A secretHash is the kind of a secret and its hash.
type secretHash struct {
	kind string
	sum  [sha256.Size]byte
}

func hashFor(kind, secret string) secretHash {
	return secretHash{kind, sha256.Sum256([]byte(secret))}
}

// text returns the hash as the store has it.
func (h *secretHash) text() string { return hex.EncodeToString(h.sum[:]) }

// remembered is the caller that a secret stands for.
type remembered struct {
	caller caller
	until  time.Time // the caller is good until then
	looked time.Time
}

func newAuth(store Store, tls bool, o *OIDC) *auth {
	return &auth{store: store, tls: tls, oidc: o, known: map[secretHash]remembered{}}
}

// hashOf returns the hash that stands for a secret in the store. A secret has 130 random bits, so that a
// plain hash cannot be turned back.
func hashOf(secret string) string {
	h := hashFor("", secret)
	return h.text()
}

// errWho means that a token or cookie is unknown.
var errWho = errors.New("nobody is known by that token or cookie")

// caller finds the caller of a request by its token or cookie. It returns
// errWho where neither is good, and no caller where neither is there.
func (a *auth) caller(r *http.Request) (*caller, error) {
	address := addressOf(r)
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return nil, errWho
		}
		return a.find(r.Context(), tokenKind, token, address)
	}
	cookie, err := r.Cookie(a.cookieName(r))
	if err != nil {
		return &caller{address: address}, nil
	}
	return a.find(r.Context(), sessionKind, cookie.Value, address)
}

// addressOf returns the machine that a request comes from.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr // of a Unix socket
	}
	return host
}

// find looks a secret up.
func (a *auth) find(ctx context.Context, kind, secret, address string) (*caller, error) {
	hash := hashFor(kind, secret)
	a.mu.Lock()
	k, ok := a.known[hash]
	a.mu.Unlock()
	now := time.Now()
	if !ok || now.Sub(k.looked) > known {
		var err error
		if k, err = a.look(ctx, &hash, secret); err != nil {
			if errors.Is(err, errWho) {
				a.unknow(hash)
			}
			return nil, err
		}
		k.looked, k.caller.named = now, k.caller.id()
		a.mu.Lock()
		if len(a.known) >= maxKnown {
			clear(a.known)
		}
		a.known[hash] = k
		a.mu.Unlock()
	}
	if !now.Before(k.until) {
		return nil, fmt.Errorf("%w: it has expired", errWho)
	}
	c := k.caller
	c.address = address
	return &c, nil
}

// unknow has a secret looked up again when it comes next.
func (a *auth) unknow(hash secretHash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, hash)
}

// before returns the caller that a token had before the store was lost, for denials with the
// reason and for metrics; nil: it was not known.
func (a *auth) before(r *http.Request, lost error) *caller {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.known[hashFor(tokenKind, token)]
	if !ok || !time.Now().Before(k.until) {
		return nil
	}
	return &caller{agent: k.caller.agent, person: k.caller.person, lost: lost}
}

// look reads a token or session from the store.
func (a *auth) look(ctx context.Context, of *secretHash, secret string) (remembered, error) {
	kind, hash := of.kind, of.text()
	missing := func(err error) error {
		if errors.Is(err, docs.ErrNotFound) {
			return errWho
		}
		return err
	}
	if kind == sessionKind {
		s, _, err := docs.Get[session](ctx, a.store, kind, hash)
		if err != nil {
			return remembered{}, missing(err)
		}
		if !a.oidc.renew(&s.Person) {
			return remembered{}, errWho
		}
		return remembered{caller: caller{person: &s.Person, cookie: true}, until: s.Expires}, nil
	}
	t, _, err := docs.Get[client.Token](ctx, a.store, kind, hash)
	if err != nil {
		return remembered{}, missing(err)
	}
	out := remembered{until: t.Expires}
	switch {
	case t.Kind == "agent" && strings.HasPrefix(secret, agentPrefix):
		out.caller.agent = &agentID{token: t}
	case t.Kind == "person" && strings.HasPrefix(secret, personPrefix):
		out.caller.person = &Person{Name: t.Name, Roles: t.Roles}
	default:
		return remembered{}, errWho
	}
	return out, nil
}

// newToken makes a token and keeps its hash.
func (a *auth) newToken(ctx context.Context, t client.TokenRequest, by string) (client.Token, error) {
	prefix := map[string]string{"agent": agentPrefix, "person": personPrefix}[t.Kind]
	if err := boundToken(&t); err != nil {
		return client.Token{}, err
	}
	switch {
	case prefix == "":
		return client.Token{}, bad(fmt.Sprintf("kind is agent or person, not %q", t.Kind))
	case t.Name == "":
		return client.Token{}, bad("a token needs a name")
	case t.Kind == "agent" && len(t.Roles) > 0:
		return client.Token{}, bad("roles are people's")
	case t.Kind == "person" && t.Agent+t.Workspace+t.Dialect+t.User != "":
		return client.Token{}, bad("agent, workspace, dialect and user are for an agent's token")
	case t.Vouches && (t.Kind != "agent" || t.Agent != client.AnyAgent):
		return client.Token{}, bad(`only a machine, an agent's token for "*", vouches for users`)
	}
	switch {
	case t.Days == 0:
		t.Days = 90
	case t.Days < 0 || t.Days > maxDays:
		return client.Token{}, bad(fmt.Sprintf("a token holds for 1 to %d days, not %d", maxDays, t.Days))
	}
	switch {
	case t.Kind == "agent" && t.Agent == "":
		t.Agent = t.Name // so that its requests can be told from those of others
	case t.Agent == client.AnyAgent:
		t.Agent = ""
	}
	now := time.Now().UTC()
	out := client.Token{ID: "tok_" + rand.Text()[:12], Kind: t.Kind, Name: t.Name, Roles: t.Roles, Agent: t.Agent,
		Workspace: t.Workspace, Dialect: t.Dialect, User: t.User, Vouches: t.Vouches,
		By: by, Created: now, Expires: now.AddDate(0, 0, t.Days)}
	secret := prefix + rand.Text()
	if err := a.tokenMade(ctx, &out); err != nil {
		return client.Token{}, err
	}
	if err := docs.Put(ctx, a.store, tokenKind, hashOf(secret), 0, out); err != nil {
		return client.Token{}, err
	}
	out.Secret = secret
	return out, nil
}

// tokens returns the tokens, and each one's key in the store.
func (a *auth) tokens(ctx context.Context) (out []client.Token, keys []string, err error) {
	list, err := a.store.Docs(ctx, tokenKind)
	if err != nil {
		return nil, nil, err
	}
	out = make([]client.Token, len(list))
	for i, d := range list {
		if err := json.Unmarshal(d.Body, &out[i]); err != nil {
			return nil, nil, err
		}
		keys = append(keys, d.ID)
	}
	return out, keys, nil
}

// NewLogin returns the secret of a link that logs a person in, once; by names its maker.
func NewLogin(ctx context.Context, store Store, p Person, by string) (string, error) {
	secret, l := rand.Text(), login{Person: p, Expires: time.Now().Add(loginLife)}
	made := access{Kind: "link", Name: p.Name, Roles: p.Roles, Expires: l.Expires}
	if err := store.Append(ctx, made.record(accessMade, by, fmt.Sprintf("%s made a link that logs %s in", by,
		p.Name))); err != nil {
		return "", err
	}
	return secret, docs.Put(ctx, store, loginKind, hashOf(secret), 0, l)
}

// NewToken makes a token, for a command that has the store at hand.
func NewToken(ctx context.Context, store Store, t client.TokenRequest, by string) (client.Token, error) {
	return newAuth(store, false, nil).newToken(ctx, t, by)
}

// trade takes a login and returns its person. Of several that try, one gets it.
func (a *auth) trade(ctx context.Context, secret string) (*Person, error) {
	hash := hashOf(secret)
	l, version, err := docs.Get[login](ctx, a.store, loginKind, hash)
	if errors.Is(err, docs.ErrNotFound) || err == nil && !time.Now().Before(l.Expires) {
		return nil, errWho
	}
	if err != nil {
		return nil, err
	}
	err = a.store.PutDoc(ctx, &docs.Doc{Kind: loginKind, ID: hash, Version: version})
	if errors.Is(err, docs.ErrChanged) || errors.Is(err, docs.ErrNotFound) {
		return nil, errWho // another request was first
	}
	l.Person.Login, l.Person.Names = linkLogin+l.Person.Name, nil
	l.Person.Provider, l.Person.Groups = "", nil
	return &l.Person, err
}

// begin logs a person in: the cookie of a new session is set.
func (a *auth) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, p Person) error {
	secret := rand.Text()
	p.CSRF = rand.Text()
	s := session{ID: "ses_" + rand.Text()[:12], Person: p, Expires: time.Now().Add(sessionLife)}
	if err := a.loggedIn(ctx, &s, addressOf(r)); err != nil {
		return err
	}
	if err := docs.Put(ctx, a.store, sessionKind, hashOf(secret), 0, s); err != nil {
		return err
	}
	// Lax: a link from a chat opens a page for a person who is logged in. Nothing is answered by GET, and everything else
	// takes the page's own secret.
	http.SetCookie(w, &http.Cookie{Name: a.cookieName(r), Value: secret, Path: "/", HttpOnly: true, Secure: a.tls,
		SameSite: http.SameSiteLaxMode, MaxAge: int(sessionLife.Seconds())})
	return nil
}

// sessions returns the sessions that are open, and each one's key in the store.
func (a *auth) sessions(ctx context.Context) (out []session, keys []string, err error) {
	list, err := a.store.Docs(ctx, sessionKind)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range list {
		var s session
		if json.Unmarshal(d.Body, &s) == nil && time.Now().Before(s.Expires) {
			out, keys = append(out, s), append(keys, d.ID)
		}
	}
	return out, keys, nil
}

// endSessions ends the sessions with an ID, or all of a person, and returns how many there were.
func (a *auth) endSessions(ctx context.Context, id, person, by string) (int, error) {
	list, keys, err := a.sessions(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range list {
		if list[i].ID != id && (person == "" || list[i].Person.Name != person) {
			continue
		}
		reason := fmt.Sprintf("%s ended the session of %s", by, list[i].Person.Name)
		if err := a.store.Append(ctx, sessionAccess(&list[i], "").record(accessEnded, by, reason)); err != nil {
			return n, err
		}
		hash := secretHash{kind: sessionKind}
		if sum, err := hex.DecodeString(keys[i]); err == nil {
			copy(hash.sum[:], sum)
		}
		a.unknow(hash)
		if err := docs.Delete(ctx, a.store, sessionKind, keys[i]); err != nil && !errors.Is(err, docs.ErrNotFound) {
			return n, err
		}
		n++
	}
	return n, nil
}

// end logs out.
func (a *auth) end(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	name := a.cookieName(r)
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", HttpOnly: true, Secure: a.tls,
		SameSite: http.SameSiteLaxMode, MaxAge: -1})
	cookie, err := r.Cookie(name)
	if err != nil {
		return nil
	}
	a.unknow(hashFor(sessionKind, cookie.Value))
	s, _, err := docs.Get[session](ctx, a.store, sessionKind, hashOf(cookie.Value))
	if err == nil {
		err = docs.Delete(ctx, a.store, sessionKind, hashOf(cookie.Value))
	}
	if errors.Is(err, docs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.loggedOut(ctx, &s, addressOf(r))
}

// cookieName names the cookie. Cookies are sent to all ports of a host, so that
// two servers on one machine need two names.
func (a *auth) cookieName(r *http.Request) string {
	if a.tls {
		return "__Host-obstat"
	}
	port := r.Host[strings.LastIndexByte(r.Host, ':')+1:]
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		port = "80"
	}
	return "obstat-" + port
}

// sameSecret compares secrets in a time that tells nothing about them.
func sameSecret(a, b string) bool {
	return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// revoke takes a token back, by its ID.
func (a *auth) revoke(ctx context.Context, id, by string) error {
	list, keys, err := a.tokens(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].ID == id {
			hash := secretHash{kind: tokenKind}
			if sum, err := hex.DecodeString(keys[i]); err == nil {
				copy(hash.sum[:], sum)
			}
			if err := a.tokenRevoked(ctx, &list[i], by); err != nil {
				return err
			}
			a.unknow(hash)
			return docs.Delete(ctx, a.store, tokenKind, keys[i])
		}
	}
	return newProblem(http.StatusNotFound, "not-found", "there is no such token", id)
}
