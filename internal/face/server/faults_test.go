//go:build linux

package server_test

import (
	"flag"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/postgres/pgtest"
)

var faultRounds = flag.Int("faults", 0, "rounds of TestFaults: kills, a full disk, a clock that jumps")

// TestFaults is [TestCluster] for longer and worse: a hundred and twenty agents ask while replicas and PostgreSQL are
// killed, its disk is full, and its clock jumps by days. `make test-faults` runs it as root, with libfaketime. The clock of a
// replica cannot be moved that way: a Go program asks the kernel without the C library; TestFollowTheFuture has records of
// other times.
func TestFaults(t *testing.T) {
	if *faultRounds == 0 {
		t.Skip("TestCluster is the short version; make test-faults runs this one")
	}
	disk := t.TempDir()
	must(t, os.Chmod(disk, 0o755))
	must(t, os.Chmod(filepath.Dir(disk), 0o755))
	must(t, syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=512m,mode=755"))
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	clock := filepath.Join(disk, "clock")
	jump := func(by string) { must(t, os.WriteFile(clock, []byte(by), 0o644)) }
	jump("+0")
	libs, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(libs) == 0 {
		t.Fatal("libfaketime is not installed: apt-get install faketime")
	}
	db := pgtest.StartWith(t, pgtest.Options{Dir: disk, Env: []string{"LD_PRELOAD=" + libs[0],
		"FAKETIME_TIMESTAMP_FILE=" + clock, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}})
	work, store := openSwarm(t, db, 120, 2**faultRounds)
	work.run(func() {
		for i := range *faultRounds {
			work.round(db, i, jump, filepath.Join(disk, "filler"))
		}
	})
	work.check(store)
}

// round does all the harm once.
func (s *swarm) round(db *pgtest.Server, i int, jump func(string), filler string) {
	step := func(name string, do func()) {
		do()
		s.t.Logf("round %d: %s; %d calls have a verdict", i, name, s.verdicts.Load())
		time.Sleep(time.Second)
	}
	step("a replica is killed", func() { s.kill(i % 3) })
	step("and comes back", func() { s.start(i % 3) })
	step("the clock goes on by three days", func() { jump("+3d") })
	ahead := time.Until(db.Clock())
	step("the clock goes back by four", func() { jump("-1d") })
	if behind := time.Since(db.Clock()); ahead < 71*time.Hour || behind < 23*time.Hour {
		s.t.Errorf("the clock has not jumped: %s ahead, %s behind", ahead, behind)
	}
	step("the disk is full", func() { fill(s.t, filler) })
	step("there is room again", func() {
		must(s.t, os.Remove(filler))
		db.Restart(0)
	})
	step("the clock is right", func() { jump("+0") })
	step("PostgreSQL is killed", func() { db.Restart(500 * time.Millisecond) })
	step("two replicas are killed", func() {
		s.kill((i + 1) % 3)
		s.kill((i + 2) % 3)
	})
	step("and come back", func() {
		s.start((i + 1) % 3)
		s.start((i + 2) % 3)
	})
}

// fill writes a file until its disk has no room.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	for block := make([]byte, 1<<20); ; {
		if n, err := f.Write(block); err != nil {
			if n == 0 && len(block) == 4096 {
				return
			}
			block = block[:4096]
		}
	}
}
