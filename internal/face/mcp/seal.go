package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/obstat/obstat"
)

// A client carries a sealed state from a question to its answer. It is no
// authority: whether the request was answered, and used, is in the store.
type sealed struct {
	Request string    `json:"r"`
	Server  string    `json:"s"`
	Agent   string    `json:"a,omitempty"`
	User    string    `json:"u,omitempty"`
	Dir     string    `json:"w,omitempty"` // paths are relative to it
	Call    string    `json:"c"`           // digest of tool and arguments
	Channel string    `json:"d"`           // holds the digest of the tool's description
	Expires time.Time `json:"e"`
}

// sealPrefix begins every state of the gateway's, so that it is not taken for one of
// the server's.
const sealPrefix = "obstat1."

// cipherOf returns the cipher of states, with a key made from the installation's.
func (g *Guard) cipherOf() (cipher.AEAD, error) {
	if len(g.Key) == 0 {
		return nil, errors.New("there is no key") // with none, anybody could make a state
	}
	m := hmac.New(sha256.New, g.Key)
	m.Write([]byte("obstat mcp state\n"))
	block, err := aes.NewCipher(m.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func (s *session) seal(q *question) (string, error) {
	text, err := json.Marshal(sealed{q.id, s.Name, q.call.Agent, q.call.User, q.call.Dir, q.call.DigestText(),
		q.call.Channel, q.req.Expires})
	if err != nil {
		return "", err
	}
	aead, err := s.cipherOf()
	if err != nil {
		return "", err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return sealPrefix + base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, text, nil)), nil
}

// unseal opens a state; ours tells whether it claims to be one of the gateway's. One that
// was changed is nil.
func (g *Guard) unseal(state string) (out *sealed, ours bool) {
	text, ours := strings.CutPrefix(state, sealPrefix)
	if !ours {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	aead, cerr := g.cipherOf()
	if err != nil || cerr != nil || len(raw) < aead.NonceSize() {
		return nil, true
	}
	n := aead.NonceSize()
	if raw, err = aead.Open(nil, raw[:n], raw[n:], nil); err != nil {
		return nil, true
	}
	out = new(sealed)
	if json.Unmarshal(raw, out) != nil {
		return nil, true
	}
	return out, true
}

// ours tells whether a message carries a state of the gateway's.
func (s *session) ours(f *frame) bool { return strings.HasPrefix(f.state, sealPrefix) }

// fits says why a state is not for a call, "" where it is.
func (s *session) fits(st *sealed, c *obstat.Call) string {
	switch {
	case st == nil:
		return "the state that came with it is not one that obstat has given out"
	case st.Server != s.Name || st.Agent != c.Agent || st.User != c.User:
		return "the answer was for another server or client"
	case st.Dir != c.Dir:
		return "the answer was for a call in another directory"
	case st.Call != c.DigestText():
		return "the answer was for other arguments"
	case st.Channel != c.Channel:
		return "the tool describes itself differently by now"
	case time.Now().After(st.Expires):
		return "the answer came too late; nobody has refused it"
	}
	return ""
}
