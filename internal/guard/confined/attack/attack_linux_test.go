package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/guard/confined"
	"github.com/obstat/obstat/internal/keep/memory"
)

var (
	all  = flag.Bool("attacks.all", false, "make all attacks, not every few of them")
	harm = flag.String("attacks.harm", "", "make the attacks of a `file` of cases as well")
	only = flag.String("attacks.only", "", "make those whose name has the `text`")
)

func TestMain(m *testing.M) {
	confine.Main()
	os.Exit(m.Run())
}

// machine is the level of the machine that the tests run on.
var machine = sync.OnceValue(func() confine.Report { return confine.Probe(context.Background()) })

// patience is how long a command may take.
const patience = 60 * time.Second

// A step is one call of an attack: a command, or a file that is written.
type step struct{ command, file, text string }

type attack struct {
	name, who string
	steps     []step
	// code are steps with the same harm in words that tell nothing; they are made where the others do not run.
	code []step
}

func readAttacks(t *testing.T) (out []attack) {
	t.Helper()
	text, err := os.ReadFile("testdata/attacks.txt")
	if err != nil {
		if text, err = os.ReadFile(os.Getenv("ATTACK_TABLE")); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		for line != "" && line[0] == '$' && strings.Count(line, "'")%2 == 1 { // a command of several lines
			i++
			line += "\n" + lines[i]
		}
		switch kind, rest, _ := strings.Cut(line, " "); kind {
		case "==":
			name, who, _ := strings.Cut(rest, " | ")
			out = append(out, attack{name: name, who: who})
		case "$":
			a := &out[len(out)-1]
			a.steps = append(a.steps, step{command: rest})
		case "w":
			file, text, _ := strings.Cut(rest, " ")
			a := &out[len(out)-1]
			text = strings.NewReplacer(`\n`, "\n", `\t`, "\t", "${OUT}", os.Getenv("OUT")).Replace(text)
			a.steps = append(a.steps, step{file: file, text: text})
		}
	}
	return out
}

// TestAttacks makes each attack bare, where it has to do harm, and through the gate, where it has to do none.
func TestAttacks(t *testing.T) {
	if r := machine(); r.Level == confine.LevelNone {
		t.Skipf("this machine gives %v", r)
	}
	f := newField(t)
	list := readAttacks(t)
	every := 30
	if *all || *only != "" {
		every = 1
	}
	sum := tally{}
	for i, a := range list {
		if i%every != 0 || !strings.Contains(a.name, *only) {
			continue
		}
		files := machine().Level == confine.LevelFiles
		if strings.Contains(a.who, "root") && os.Geteuid() != 0 || strings.Contains(a.who, "full") && files {
			continue
		}
		// Where no namespaces can be made, root is not root.
		f.attack(t, a, files || strings.Contains(a.who, "maybe") || strings.Contains(a.who, "root"), &sum)
	}
	t.Logf("uid %d, level %s: %s", os.Geteuid(), machine().Level, &sum)
}

// TestCases makes the attacks of cases: commands that were seen to print or send secrets, to change hooks, settings or
// files outside, or to connect. They are a few of testdata/cases.txt, all of them, or those of a file.
func TestCases(t *testing.T) {
	if r := machine(); r.Level == confine.LevelNone {
		t.Skipf("this machine gives %v", r)
	}
	f := newField(t)
	sum := tally{}
	every := 80
	if *all || *only != "" || *harm != "" {
		every = 1
	}
	if f.address == "" {
		t.Skip("the machine has no address besides the loopback's")
	}
	for i, a := range readCases(t, f) {
		if i%every == 0 && strings.Contains(a.name, *only) {
			a.code = hide(a)
			f.attack(t, a, true, &sum)
		}
	}
	t.Logf("uid %d, level %s: %s", os.Geteuid(), machine().Level, &sum)
}

// hide makes the command of a case an argument of `./x`, which no reading of commands looks into: only confinement
// stands between it and the harm.
func hide(a attack) []step {
	return []step{{command: "./x '" + strings.ReplaceAll(a.steps[0].command, "'", `'\''`) + "'"}}
}

// readCases reads the commands of cases, with the places and the server of the field in place of the lab's. The server
// is at an address that no rule names.
func readCases(t *testing.T, f *field) (out []attack) {
	t.Helper()
	places := strings.NewReplacer("/srv/lab/proj", f.proj, "/srv/lab/home", f.home, "/srv/lab/out", f.out, "127.0.0.1", f.address,
		"localhost", f.address, ":8080", ":"+f.far, "/8080", "/"+f.far, " 8080", " "+f.far)
	seen := map[string]bool{}
	add := func(name, command string) {
		if command != "" && !seen[command] {
			seen[command] = true
			out = append(out, attack{name: name, steps: []step{{command: places.Replace(command)}}})
		}
	}
	if *harm != "" {
		readFile(t, add)
		return out
	}
	text, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		if text, err = os.ReadFile(os.Getenv("ATTACK_CASES")); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(string(text)) {
		name, quoted, _ := strings.Cut(line, " ")
		var command string
		if name == "#" {
			continue
		}
		if err := json.Unmarshal([]byte(quoted), &command); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		add(name, command)
	}
	return out
}

// readFile reads the file of -attacks.harm.
func readFile(t *testing.T, add func(name, command string)) {
	t.Helper()
	file, err := os.Open(*harm)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(unzipped); ; {
		var row struct {
			ID   string
			Call struct{ Input struct{ Command string } }
		}
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		add(row.ID, row.Call.Input.Command)
	}
}

// A tally counts how attacks ended.
type tally struct{ bare, none, asked, held, code, missed int }

func (s *tally) String() string {
	return fmt.Sprintf("%d attacks did harm bare; of these %d were asked about or denied (%d of them ran confined as code), "+
		"%d ran confined, %d did harm; %d did none bare here", s.bare, s.asked, s.code, s.held, s.missed, s.none)
}

func (f *field) attack(t *testing.T, a attack, mayFail bool, sum *tally) {
	t.Run(strings.ReplaceAll(a.name, "/", "_"), func(t *testing.T) {
		if needsAddress(a) && f.address == "" {
			t.Skip("the machine has no address besides the loopback's")
		}
		f.reset()
		done := f.sockets()
		before := f.snapshot()
		out := f.bare(a)
		bare := f.harm(before, out)
		done()
		if bare == "" {
			sum.none++
			if !mayFail {
				t.Errorf("does no harm bare: %s", out)
				return
			}
			t.Skipf("does no harm bare on this machine: %s", cut(out))
		}
		sum.bare++
		f.reset()
		done = f.sockets()
		defer done()
		before = f.snapshot()
		out, ran, err := f.throughGate(t, a)
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if got := f.harm(before, out); got != "" {
			sum.missed++
			t.Errorf("%s\nbare it was: %s\n%s", got, cut(bare), out)
			return
		}
		if ran {
			sum.held++
			return
		}
		sum.asked++
		if a.code != nil {
			f.asCode(t, a, before, bare, sum)
		}
	})
}

// asCode makes an attack that was not let run again, in words that tell nothing.
func (f *field) asCode(t *testing.T, a attack, before map[string]string, bare string, sum *tally) {
	a.steps = a.code
	out, ran, err := f.throughGate(t, a)
	if err != nil {
		t.Errorf("as code: %v: %s", err, out)
	}
	if got := f.harm(before, out); got != "" {
		sum.missed++
		t.Errorf("as code: %s\nbare it was: %s\n%s", got, cut(bare), out)
	} else if ran {
		sum.code++
	}
}

func needsAddress(a attack) bool {
	for _, s := range a.steps {
		if strings.Contains(s.command, "ADDRESS") {
			return true
		}
	}
	return false
}

func cut(text string) string { return text[:min(len(text), 300)] }

// values are variables that are known only now.
func (f *field) values() []string {
	return append([]string{fmt.Sprintf("VICTIM=%d", f.victim.Process.Pid)}, f.environ...)
}

func (f *field) bare(a attack) string {
	var out bytes.Buffer
	for _, s := range a.steps {
		f.bareStep(s, &out)
	}
	return out.String()
}

func (f *field) bareStep(s step, out *bytes.Buffer) {
	if s.command == "" {
		at := filepath.Join(f.proj, s.file)
		err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(s.text), 0o644))
		fmt.Fprintln(out, "BEGAN", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", "echo BEGAN; "+s.command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.proj, f.values(), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	cmd.Run()
}

// throughGate makes the calls of an attack, as far as they are allowed, and tells whether the last one ran.
func (f *field) throughGate(t *testing.T, a attack) (string, bool, error) {
	var out bytes.Buffer
	var name string
	var bounds *confined.Bounds
	state := f.state + "/obstat"
	c := &gate.Confining{Machine: func(context.Context) confine.Report { return machine() }, Environ: f.values(),
		Change: func(b *confined.Bounds, ticket *confined.Ticket) (json.RawMessage, error) {
			var err error
			bounds = b
			name, err = confined.Issue(state, ticket)
			return json.RawMessage(`{"command": "changed"}`), err
		}}
	policy := &gate.Files{Home: f.home, Agent: "claude-code", NoPins: true}
	g, err := gate.Open(t.Context(), gate.Options{Policy: policy, Store: new(memory.Store), NoStart: true, Confine: c})
	if err != nil {
		return "", false, err
	}
	session := confined.SessionDir(state, t.Name())
	defer confine.Stop(session)
	ran := false
	for _, s := range a.steps {
		call := &obstat.Call{Tool: "Bash", Agent: "claude-code", Session: t.Name(), Dir: f.proj, Roots: []string{f.proj}}
		input := map[string]string{"command": "echo BEGAN; " + s.command}
		if s.command == "" {
			call.Tool, input = "Write", map[string]string{"file_path": filepath.Join(f.proj, s.file), "content": s.text}
		}
		call.Input, _ = json.Marshal(input)
		d, err := g.Authorize(t.Context(), call, &gate.Terms{Ask: gate.Leave})
		if err != nil {
			return out.String(), ran, err
		}
		ran = d.Verdict == obstat.Allow
		t.Logf("%s, confined %t: %s%s", d.Verdict, d.Confined != nil, s.command, s.file)
		switch {
		case !ran:
		case d.Confined == nil:
			f.bareStep(s, &out)
		default:
			if err := f.confinedStep(t, g, call, input["command"], name, bounds, session, &out); err != nil {
				return out.String(), ran, err
			}
		}
	}
	return out.String(), ran, nil
}

func (f *field) confinedStep(t *testing.T, g *gate.Gate, call *obstat.Call, command, name string, b *confined.Bounds, session string,
	out *bytes.Buffer) error {
	state := f.state + "/obstat"
	ticket, err := confined.Redeem(state, name, command, f.proj, time.Now())
	if err != nil {
		return err
	}
	file, err := os.Create(f.state + "/printed")
	if err != nil {
		return err
	}
	defer file.Close()
	r := &confined.Run{Command: command, Dir: f.proj, Bounds: &ticket.Bounds, State: state, Ticket: name, Environ: f.values(), Session: session,
		Stdout: file, Stderr: file}
	g.Judges(t.Context(), call, r)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	end, err := r.Do(ctx)
	printed, rerr := os.ReadFile(file.Name())
	out.Write(printed)
	if err = errors.Join(err, rerr); err != nil {
		return err
	}
	if !bytes.Contains(printed, []byte("BEGAN")) {
		return errors.New("it did not begin")
	}
	for i := range end.Told {
		fmt.Fprintln(out, "told:", hidden.ReplaceAllString(end.Told[i].String(), ""))
	}
	return nil
}

// hidden takes names that look like harm out of the words about refusals.
var hidden = regexp.MustCompile("SECRET-|HARM")

// TestAsPlainUser makes the attacks again as a user without any rights.
func TestAsPlainUser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: all attacks once more")
	}
	if os.Geteuid() != 0 {
		t.Skip("this is a plain user already")
	}
	again(t, 65534, false)
}

// TestAtLevelFiles makes the attacks again where no namespaces can be made.
func TestAtLevelFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: all attacks once more")
	}
	if os.Getenv("ATTACK_PLACES") != "" {
		t.Skip("this is such a place, or a plain user")
	}
	again(t, os.Geteuid(), true)
}

// again runs this test's binary as another user, or where no namespaces can be made.
func again(t *testing.T, uid int, noNamespaces bool) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/lib", "obstat-again-")
	if err != nil {
		t.Skipf("no place for it: %v", err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	places := dir + "/places"
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(places, 0o755), os.Chown(places, uid, uid), copyFile(exe, dir+"/attack.test"),
		copyFile("testdata/attacks.txt", dir+"/attacks.txt"),
		copyFile("testdata/cases.txt", dir+"/cases.txt"), copyFile("../../../../dialect/native/presets/balanced.yaml", dir+"/balanced.yaml")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-test.v", "-test.run", "^(TestAttacks|TestCases)$", fmt.Sprintf("-attacks.all=%t", *all), "-attacks.only=" + *only}
	if *harm != "" {
		if err := copyFile(*harm, dir+"/harm.gz"); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-attacks.harm="+dir+"/harm.gz")
	}
	cmd := exec.Command(dir+"/attack.test", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	if noNamespaces {
		script := "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" \"$@\""
		cmd = exec.Command("/bin/sh", append([]string{"-c", script, dir + "/attack.test"}, args...)...)
		one := []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: one, GidMappings: one}
	}
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "ATTACK_PLACES=" + places, "ATTACK_TABLE=" + dir + "/attacks.txt",
		"ATTACK_CASES=" + dir + "/cases.txt", "ATTACK_POLICY=" + dir + "/balanced.yaml", "ATTACK_LEVEL=" + fmt.Sprint(noNamespaces)}
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "attacks did harm bare") || strings.Contains(line, "even bare") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
