package confined

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/confine"
)

// TestMachineIsRemembered: level full is looked at once, a lower one each time, and all again in another place.
func TestMachineIsRemembered(t *testing.T) {
	if machineStamp("/proc/") == "" {
		t.Skip("this machine has no /proc that tells its boot and namespaces")
	}
	state, looks := t.TempDir(), 0
	report := confine.Report{Level: confine.LevelFiles}
	look := func() confine.Level {
		return recalled(t.Context(), state, func(context.Context) confine.Report { looks++; return report }).Level
	}
	look()
	report = confine.Report{Level: confine.LevelFull, Overlay: true}
	if look() != confine.LevelFull || looks != 2 {
		t.Errorf("level files was remembered: %d looks", looks)
	}
	report = confine.Report{Level: confine.LevelNone}
	if look() != confine.LevelFull || looks != 2 {
		t.Errorf("level full was not remembered: %d looks", looks)
	}
	text, err := os.ReadFile(machineFile(state))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := strings.Replace(string(text), machineStamp("/proc/"), "0123456789abcdef", 1)
	if err := os.WriteFile(machineFile(state), []byte(elsewhere), 0o600); err != nil {
		t.Fatal(err)
	}
	if look() != confine.LevelNone || looks != 3 {
		t.Errorf("another place counted: %d looks", looks)
	}
	report = confine.Report{Level: confine.LevelFull, Overlay: true}
	look()
	forget(state)
	if look(); looks != 5 {
		t.Errorf("it was not forgotten: %d looks", looks)
	}
}

// TestMachineStamp: a process under a filter, with other rights or in another namespace is another place.
func TestMachineStamp(t *testing.T) {
	proc := t.TempDir() + "/"
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(proc+name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(proc+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	namespace := func(name, to string) {
		os.Remove(proc + "self/ns/" + name)
		if err := os.MkdirAll(proc+"self/ns", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, proc+"self/ns/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if machineStamp(proc) != "" {
		t.Error("a machine without a boot has a stamp")
	}
	write("sys/kernel/random/boot_id", "b1\n")
	write("self/status", "Name:\tx\nUid:\t1\nSeccomp:\t0\nNoNewPrivs:\t0\nCapEff:\t0\n")
	for _, name := range []string{"user", "mnt", "pid", "net"} {
		namespace(name, name+":[1]")
	}
	seen := map[string]string{"": "nothing", machineStamp(proc): "the first"}
	for name, change := range map[string]func(){
		"a boot":      func() { write("sys/kernel/random/boot_id", "b2\n") },
		"a filter":    func() { write("self/status", "Uid:\t1\nSeccomp:\t2\nNoNewPrivs:\t1\nCapEff:\t0\n") },
		"a namespace": func() { namespace("user", "user:[2]") },
		"a limit":     func() { write("sys/user/max_user_namespaces", "0\n") },
	} {
		change()
		stamp := machineStamp(proc)
		if had := seen[stamp]; had != "" {
			t.Errorf("%s has the stamp of %s", name, had)
		}
		seen[stamp] = name
	}
}
