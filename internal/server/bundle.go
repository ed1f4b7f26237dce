package server

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/store/docs"
	"github.com/obstat/obstat/ledger"
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

// bundle returns the policy in force, signed.
func (v *Service) bundle(ctx context.Context) (*client.Bundle, error) {
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
	return &client.Bundle{Policy: string(text), Signature: encode(ed25519.Sign(key, text)), Key: encode(key.Public().(ed25519.PublicKey))}, nil
}

// A source is how far the ledger of a machine is in this one.
type source struct {
	Head  ledger.Head `json:"head"`
	First ledger.Hash `json:"first,omitzero"` // of the chain's first record, where that was sent
}

// place is where a record was in the chain of its machine.
type place struct {
	Seq  uint64      `json:"seq"`
	Prev ledger.Hash `json:"prev"`
	Hash ledger.Hash `json:"hash"`
	From string      `json:"from"` // the token that it came by; see [ledger.Record.Elsewhere]
}

// take adds records of a machine's own ledger to this one. Each keeps the place
// that it had there; those that are here are left out, and those that do not follow
// are refused. A machine that was set up anew begins another chain, which is written
// down. Hooks send at the same time: one after the other is heard.
func (v *Service) take(ctx context.Context, c *caller, lines []string) error {
	if c.agent.token.ID == "" {
		return fmt.Errorf("%w: records are taken from machines with a token", errForbidden)
	}
	lock, _ := v.taking.LoadOrStore(c.agent.token.ID, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	now, _, err := docs.Get[source](ctx, v.s.store, sourceKind, c.agent.token.ID)
	if err != nil && !errors.Is(err, docs.ErrNotFound) {
		return err
	}
	var records []*ledger.Record
	made := map[string]int{} // calls, by agent
	head, first := now.Head, now.First
	for i, line := range lines {
		r, err := ledger.Decode([]byte(strings.TrimSpace(line)))
		if err != nil {
			return bad(fmt.Sprintf("line %d is no record: %v", i+1, err))
		}
		sum, err := r.Sum()
		if r.Seq == 1 && sum == r.Hash && r.Hash != first {
			if head.Seq > 0 {
				records = append(records, &ledger.Record{Time: time.Now(), Kind: ledger.Damage, Reason: fmt.Sprintf("the ledger of the machine %s began anew; record %d was the last of the one before that is here", c.agent.token.Name, head.Seq)})
			}
			head, first = ledger.Head{}, r.Hash
		}
		switch {
		case err != nil || sum != r.Hash:
			return bad(fmt.Sprintf("line %d does not have its hash", i+1))
		case r.Seq <= head.Seq:
			continue
		case head.Seq > 0 && (r.Seq != head.Seq+1 || r.Prev != head.Hash):
			return bad(fmt.Sprintf("line %d does not follow record %d", i+1, head.Seq))
		}
		head = ledger.Head{Seq: r.Seq, Hash: r.Hash}
		if r.Spool, err = json.Marshal(place{r.Seq, r.Prev, r.Hash, c.agent.token.ID}); err != nil {
			return err
		}
		r.Seq, r.Prev, r.Hash = 0, ledger.Hash{}, ledger.Hash{}
		records = append(records, r)
		if r.Kind == ledger.Decision {
			made[r.Agent]++
		}
	}
	if len(records) == 0 {
		return nil
	}
	if err := v.s.store.Append(ctx, records...); err != nil {
		return err
	}
	for agent, n := range made {
		v.note(c, agent, n)
	}
	_, err = docs.Change(ctx, v.s.store, sourceKind, c.agent.token.ID, func(s *source) error {
		if s.First != first || s.Head.Seq < head.Seq {
			s.Head, s.First = head, first
		}
		return nil
	})
	return err
}
