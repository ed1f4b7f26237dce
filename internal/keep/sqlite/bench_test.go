package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

func sample(i int) *ledger.Record {
	return &ledger.Record{Time: time.Now(), Kind: ledger.Decision, Agent: "coder", Session: fmt.Sprintf("session-%06d", i%10_000), Tool: "Bash", Verdict: "allow",
		Rule: "Bash(npm run *)", Input: json.RawMessage(`{"command":"npm run build -- --mode production"}`), Reason: "an allow rule matches", Nanos: 1500}
}

func BenchmarkAppend(b *testing.B) {
	s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "obstat.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			var n atomic.Int64
			b.SetParallelism(callers)
			if callers == 1 {
				for b.Loop() {
					if err := s.Append(context.Background(), sample(int(n.Add(1)))); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.Append(context.Background(), sample(int(n.Add(1)))); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "obstat.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const n = 20_000
	records := make([]*ledger.Record, n)
	for i := range records {
		records[i] = sample(i)
	}
	if err := s.Append(context.Background(), records...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Verify(context.Background(), ledger.Hash{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkFeed is how fast the database follows the file.
func BenchmarkFeed(b *testing.B) {
	s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "obstat.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		records := make([]*ledger.Record, n)
		for i := range records {
			records[i] = sample(i)
		}
		if err := s.Append(context.Background(), records...); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		for _, err := range s.Records(context.Background(), ledger.Query{Limit: 1}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "records/s")
}
