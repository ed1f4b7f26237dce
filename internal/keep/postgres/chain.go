package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/ledger"
)

// tenure is how long a chain is this process's after it was last seen. A process
// that comes later goes on with a chain whose owner is gone.
const tenure = 20 * time.Second

// own returns this replica's chain and its end. It takes over one whose process is
// gone, or begins one.
func (s *Store) own(ctx context.Context) (string, ledger.Head, error) {
	s.mu.Lock()
	chain, head := s.chain, s.head
	s.mu.Unlock()
	if chain != "" {
		return chain, head, nil
	}
	err := retry(ctx, func() (err error) {
		chain, err = s.take(ctx)
		return err
	})
	if err != nil {
		return "", ledger.Head{}, err
	}
	if head, err = s.headOf(ctx, chain); err != nil {
		return "", ledger.Head{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chain == "" {
		s.chain, s.head = chain, head
	}
	return s.chain, s.head, nil // of the caller that was first
}

// has returns the chain that this process writes to; "" where it has not written yet.
func (s *Store) has() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chain
}

// wrote moves the end of a chain. Another process may have taken it over meanwhile, and this
// one may have another by now, whose end it is not.
func (s *Store) wrote(chain string, head ledger.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chain == chain {
		s.head = head
	}
}

// take gets a chain: the one that this process has, one whose owner is gone, or a
// new one.
func (s *Store) take(ctx context.Context) (string, error) {
	until := fmt.Sprintf("%s + %d", micros, tenure.Microseconds())
	for {
		var name string
		err := s.pool.QueryRow(ctx, "SELECT name FROM obstat_chains WHERE owner = $1 OR until < "+micros+" ORDER BY owner = $1 DESC, name LIMIT 1", s.name).Scan(&name)
		if errors.Is(err, pgx.ErrNoRows) {
			name = newName()
			_, err = s.pool.Exec(ctx, "INSERT INTO obstat_chains (name, owner, until) VALUES ($1, $2, "+until+")", name, s.name)
			return name, err
		}
		if err != nil {
			return "", err
		}
		tag, err := s.pool.Exec(ctx, "UPDATE obstat_chains SET owner = $2, until = "+until+" WHERE name = $1 AND (owner = $2 OR until < "+micros+")", name, s.name)
		if err != nil || tag.RowsAffected() > 0 {
			return name, err
		}
	}
}

// newName names a chain after this machine.
func newName() string {
	host, err := os.Hostname()
	if err != nil || host == "" || strings.ContainsRune(host, 0) {
		host = "replica"
	}
	return host + "-" + strings.ToLower(approval.NewID("")[:6])
}

// renew says that this process is still there. A chain that another has taken over
// is not written to any more.
func (s *Store) renew(ctx context.Context) {
	chain := s.has()
	if chain == "" {
		return
	}
	tag, err := s.pool.Exec(ctx, fmt.Sprintf("UPDATE obstat_chains SET until = %s + %d WHERE name = $1 AND owner = $2", micros, tenure.Microseconds()), chain, s.name)
	if err == nil && tag.RowsAffected() == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.chain = ""
	}
}

// release gives the chain back.
func (s *Store) release(ctx context.Context) {
	// Where that fails, the tenure ends by itself.
	_, _ = s.pool.Exec(ctx, "UPDATE obstat_chains SET until = 0 WHERE owner = $1", s.name)
}
