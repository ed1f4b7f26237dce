package server

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/keep/docs"
)

// The kinds of documents of machines that decide by themselves.
const (
	keyKind    = "key"
	sourceKind = "source"
)

// A signing is the key that all replicas sign with, and the number of the policy that was signed
// last.
type signing struct {
	Seed   []byte `json:"seed"`
	Number uint64 `json:"number"`
	Policy string `json:"policy"` // hash of it
}

// bundle returns the policy in force, signed, and the limits of the caller's token.
func (v *Service) bundle(ctx context.Context, c *caller) (*client.Bundle, error) {
	p, err := v.Policy(ctx, 0)
	if err != nil {
		return nil, err
	}
	if len(p.Files) == 0 {
		return nil, bad("the policy in force has no files that could be distributed; upload one and activate it")
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	hash := hashOf(string(text))
	k, _, err := docs.Get[signing](ctx, v.s.store, keyKind, "policy")
	if errors.Is(err, docs.ErrNotFound) || err == nil && k.Policy != hash {
		k, err = docs.Change(ctx, v.s.store, keyKind, "policy", func(k *signing) error {
			if k.Seed == nil {
				k.Seed = make([]byte, ed25519.SeedSize)
				_, _ = rand.Read(k.Seed) // it cannot fail
			}
			if k.Policy != hash {
				k.Number, k.Policy = k.Number+1, hash
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	if text, err = json.Marshal(client.NumberedPolicy{Number: k.Number, PolicyVersion: *p}); err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(k.Seed)
	encode := base64.StdEncoding.EncodeToString
	return &client.Bundle{Policy: string(text), Signature: encode(ed25519.Sign(key, text)),
		Key: encode(key.Public().(ed25519.PublicKey)), For: c.agent.bound()}, nil
}
