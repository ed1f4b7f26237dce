package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/ledger"
)

// TestMain lets the test binary be a writer: OBSTAT_WRITER says which, and
// OBSTAT_DB the database.
func TestMain(m *testing.M) {
	if how := os.Getenv("OBSTAT_WRITER"); how != "" {
		fmt.Fprintln(os.Stderr, write(how, os.Getenv("OBSTAT_DB"), os.Getenv("OBSTAT_RUN")))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write writes records until it is killed, and says of each when it counts as
// written: as a store, or as hooks do, which open the file for each record; or it
// indexes what others write.
func write(how, path, run string) error {
	ctx := context.Background()
	appendTo := func(r *ledger.Record) error {
		f, err := sqlite.Log(path, os.Getenv)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Append(ctx, r)
	}
	if how != "hook" {
		s, err := sqlite.Open(ctx, path)
		if err != nil {
			return err
		}
		appendTo = func(r *ledger.Record) error { return s.Append(ctx, r) }
		if how == "index" {
			fmt.Println("ready")
			for {
				for _, err := range s.Records(ctx, ledger.Query{Limit: 1}) {
					if err != nil {
						return err
					}
				}
			}
		}
	}
	fmt.Println("ready")
	var wg sync.WaitGroup
	failed := make(chan error, 4)
	for k := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s/%s/%d/%d", run, how, k, i)
				r := &ledger.Record{Kind: ledger.Decision, Session: run, Reason: id + strings.Repeat(" long", i%500)}
				if err := appendTo(r); err != nil {
					failed <- err
					return
				}
				fmt.Println(id) // one write: acknowledged
			}
		})
	}
	return <-failed
}

// TestKilledWriters kills writers with SIGKILL at random moments. After each
// restart every acknowledged record is there, once, and the chain verifies.
func TestKilledWriters(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("OBSTAT_KILLS")); err == nil && n > 0 {
		kills = n
	}
	if testing.Short() {
		kills = 4
	}
	path := filepath.Join(t.TempDir(), "obstat.db")
	var mu sync.Mutex
	acked := map[string]bool{}
	for round := 0; round < kills; round += 3 {
		var wg sync.WaitGroup
		for _, how := range []string{"store", "hook", "index"} {
			wg.Go(func() {
				for _, id := range runAndKill(t, how, path, strconv.Itoa(round)) {
					mu.Lock()
					acked[id] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		check(t, path, acked)
	}
	t.Logf("%d acknowledged records", len(acked))
	if len(acked) < kills/3 {
		t.Errorf("only %d records were acknowledged: the writers hardly ran", len(acked))
	}
}

// runAndKill starts a writer, kills it a moment after its first words, and
// returns what it acknowledged.
func runAndKill(t *testing.T, how, path, run string) (acked []string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OBSTAT_WRITER="+how, "OBSTAT_DB="+path, "OBSTAT_RUN="+run)
	out, err := cmd.StdoutPipe()
	var errs strings.Builder
	cmd.Stderr = &errs
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	in := bufio.NewReader(out)
	if line, err := in.ReadString('\n'); line != "ready\n" {
		t.Errorf("%s: %q %v", how, line, err)
	}
	if round, _ := strconv.Atoi(run); round%2 == 0 && how != "index" { // every second time, once something was written
		if line, err := in.ReadString('\n'); err == nil {
			acked = append(acked, strings.TrimSpace(line))
		}
	}
	time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { cmd.Process.Kill() })
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // half a line was not acknowledged
		}
		acked = append(acked, strings.TrimSpace(line))
	}
	cmd.Wait()
	if errs.Len() > 0 {
		t.Errorf("%s ended by itself: %s", how, errs.String())
	}
	return acked
}

// check opens the database as the next process does and looks for everything
// that was acknowledged.
func check(t *testing.T, path string, acked map[string]bool) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	if err := verified(t, s); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for r, err := range s.Records(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(r.Reason, " ")
		seen[id]++
	}
	for id := range acked {
		if seen[id] != 1 {
			t.Fatalf("%s was acknowledged and is there %d times", id, seen[id])
		}
	}
}

// TestReadOnly: a ledger that cannot be written is an error, nothing half done,
// it can be read, and all is well when it can be written again.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "obstat.db")
	s := open(t, path)
	add(t, s, "one")
	s.Close()
	readOnly(t, true, path, s.File().Path())
	s = open(t, path) // to be read
	hook, err := sqlite.Log(path, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []ledger.Appender{s, hook} {
		if err := a.Append(t.Context(), &ledger.Record{Kind: ledger.Start}); err == nil {
			t.Error("a read-only file was written to")
		}
	}
	if got := all(t, s); got != "one" {
		t.Errorf("%s can be read", got)
	}
	readOnly(t, false, path, s.File().Path())
	add(t, s, "two")
	if err := hook.Append(t.Context(), &ledger.Record{Kind: ledger.Start, Reason: "three"}); err != nil {
		t.Error(err)
	}
	if got := all(t, s); got != "one two three" || verified(t, s) != nil {
		t.Errorf("%s: %v", got, verified(t, s))
	}
}

// readOnly makes files immutable where the test runs as root, whom permissions
// do not stop.
func readOnly(t *testing.T, on bool, paths ...string) {
	t.Helper()
	for _, p := range paths {
		var err error
		if os.Getuid() == 0 {
			flag := map[bool]string{true: "+i", false: "-i"}[on]
			err = exec.Command("chattr", flag, p).Run()
			if err == nil && on {
				t.Cleanup(func() { exec.Command("chattr", "-i", p).Run() })
			}
		} else {
			err = os.Chmod(p, map[bool]os.FileMode{true: 0o400, false: 0o600}[on])
		}
		if err != nil {
			t.Skipf("this user and file system cannot make a file read-only: %v", err)
		}
	}
}

// TestDiskFull fills a small file system: writes fail with an error and leave
// nothing half done, and go on by themselves when there is room again.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system needs root and the right to mount: %v %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", "-l", dir).Run() })
	path := filepath.Join(dir, "obstat.db")
	s := open(t, path)
	t.Cleanup(func() { s.Close() }) // before the file system goes
	hook, err := sqlite.Log(path, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	acked := map[string]bool{}
	add := func(name string, a ledger.Appender, i, size int) error {
		id := fmt.Sprint(name, i)
		err := a.Append(t.Context(), &ledger.Record{Kind: ledger.Decision, Reason: id + " " + strings.Repeat("x", size)})
		if err == nil {
			acked[id] = true
		}
		return err
	}
	if err := errors.Join(add("hook", hook, 0, 10), add("store", s, 0, 10)); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	fillDisk(t, ballast)
	if err := add("hook", hook, 1, 100_000); err == nil {
		t.Error("a hook's record was taken on a full disk")
	}
	if err := add("store", s, 1, 100_000); err == nil {
		t.Error("the store took a record on a full disk")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(add("hook", hook, 2, 100_000), add("store", s, 2, 1000)); err != nil {
		t.Error(err)
	}
	s.Close()
	check(t, path, acked)
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, io.LimitReader(zeros{}, 64<<20)); err == nil {
		t.Fatal("the file system is not small")
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
