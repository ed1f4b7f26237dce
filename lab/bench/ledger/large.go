package main

import (
	"context"
	"fmt"
	"time"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// large fills a ledger and asks it for a session, and whether it holds.
func large(path string, n int) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	const batch = 1000
	for i := 0; i < n; i += batch {
		rs := make([]*ledger.Record, min(batch, n-i))
		for j := range rs {
			rs[j] = record(i + j)
		}
		if err := s.Append(ctx, rs...); err != nil {
			return err
		}
	}
	fmt.Printf("\n| %d records | |\n|---|---|\n", n)
	var took []float64
	found := 0
	for k := range 21 {
		start := time.Now()
		found = 0
		for _, err := range s.Records(ctx, ledger.Query{Session: fmt.Sprintf("session-%06d", k*37)}) {
			if err != nil {
				return err
			}
			found++
		}
		took = append(took, float64(time.Since(start)))
	}
	fmt.Printf("| query by session (%d records found) | %s |\n", found, ns(median(took)))
	var rates, bare []float64
	for range 3 {
		c := cpu()
		start := time.Now()
		v, err := s.Verify(ctx, ledger.Hash{})
		if err != nil {
			return err
		}
		rates = append(rates, float64(v.Records)/time.Since(start).Seconds())
		bare = append(bare, float64(v.Records)/(cpu()-c).Seconds())
	}
	fmt.Printf("| verify | %.0f records/s, %.0f per second of CPU |\n", median(rates), median(bare))
	return nil
}
