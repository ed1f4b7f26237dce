package storetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/approval"
)

// placeVar tells a test binary that it was started to answer, and where.
const placeVar = "OBSTAT_STORETEST_PLACE"

const (
	processes = 8
	requests  = 20
)

// child returns the place of a process that was started to answer; "" in any other.
func child() string { return os.Getenv(placeVar) }

// Processes races eight processes to answer the same requests and to use the
// approvals: each is settled and used exactly once, with one grant. place names a store that processes share; open
// opens it. It starts the test binary anew to run the same test, so it must be
// all that its test does.
func Processes(t *testing.T, place string, open func(t *testing.T, place string) Store) {
	if where := child(); where != "" {
		answerAll(t, open(t, where))
		return
	}
	s := open(t, place)
	for i := range requests {
		r := request(fmt.Sprint("r", i))
		r.Created, r.Expires = time.Now(), time.Now().Add(time.Hour)
		must(t, s.PutRequest(ctx(), r))
	}
	did := map[string]int{}
	for _, line := range race(t, place) {
		did[line]++
	}
	grants, err := s.Grants(ctx(), time.Now())
	must(t, err)
	for i := range requests {
		id := fmt.Sprint("r", i)
		r, err := s.Request(ctx(), id)
		must(t, err)
		if won, used := did["won "+id], did["used "+id]; won != 1 || used != 1 || r.State != approval.Done || len(r.Answers) != 1 {
			t.Errorf("%s: %d processes won, %d used it, it is %s after %d answers", id, won, used, r.State, len(r.Answers))
		}
	}
	if len(grants) != requests {
		t.Errorf("%d grants of %d requests", len(grants), requests)
	}
}

// race starts the processes, lets all of them go at once and returns the lines
// that they print.
func race(t *testing.T, place string) (lines []string) {
	type runner struct {
		cmd *exec.Cmd
		in  io.Closer
		out *bufio.Reader
	}
	var runners []runner
	for range processes {
		cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v=false")
		cmd.Env = append(os.Environ(), placeVar+"="+place)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		runners = append(runners, runner{cmd, in, bufio.NewReader(out)})
	}
	for _, r := range runners {
		if line, err := r.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("a process said %q: %v", line, err)
		}
	}
	for _, r := range runners {
		must(t, r.in.Close())
	}
	for _, r := range runners {
		text, err := io.ReadAll(r.out)
		must(t, err)
		lines = append(lines, strings.Split(string(text), "\n")...)
		must(t, r.cmd.Wait())
	}
	return lines
}

// answerAll is the work of each process: it answers all requests as fast as it
// can, once its input ends.
func answerAll(t *testing.T, s Store) {
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	b := approval.New(s, nil)
	for i := range requests {
		id := fmt.Sprint("r", i)
		switch _, err := b.Answer(ctx(), id, approval.Answer{By: fmt.Sprint("process ", os.Getpid()), Allow: true, Scope: approval.Session}); {
		case err == nil:
			fmt.Println("won " + id)
		case !errors.Is(err, approval.ErrSettled):
			t.Error(err)
		}
		// The process that asked may have died: each of them takes the answer up.
		switch _, err := use(s, id); {
		case err == nil:
			fmt.Println("used " + id)
		case !errors.Is(err, approval.ErrSettled):
			t.Error(err)
		}
	}
}
