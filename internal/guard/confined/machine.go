package confined

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/internal/keep/statedir"
)

// Machine returns a function like [confine.Probe] that looks once, and remembers level full in the state directory: a
// confinement that is set up to look costs as much as the start of a run. A run that does not get the level all the
// same ends with an error, and forgets it.
func Machine(state string) func(context.Context) confine.Report {
	var once sync.Once
	var report confine.Report
	return func(ctx context.Context) confine.Report {
		once.Do(func() { report = recalled(ctx, state, confine.Probe) })
		return report
	}
}

// seenMachine is a Report with the facts that it depends on.
type seenMachine struct {
	Stamp  string         `json:"stamp"`
	Report confine.Report `json:"report"`
}

func machineFile(state string) string { return filepath.Join(state, "confined", "machine.json") }

func recalled(ctx context.Context, state string, probe func(context.Context) confine.Report) confine.Report {
	stamp := machineStamp("/proc/")
	if state == "" || stamp == "" {
		return probe(ctx)
	}
	var was seenMachine
	text, err := os.ReadFile(machineFile(state))
	if err == nil && json.Unmarshal(text, &was) == nil && was.Stamp == stamp {
		return was.Report
	}
	r := probe(ctx)
	if r.Level != confine.LevelFull || !r.Overlay {
		return r // that may change with a setting, and is looked at again
	}
	text, err = json.Marshal(seenMachine{stamp, r})
	if err == nil && os.MkdirAll(filepath.Dir(machineFile(state)), 0o700) == nil {
		_ = statedir.Replace(machineFile(state), text) // else the next call looks again
	}
	return r
}

// forget has the next call look at the machine again.
func forget(state string) { os.Remove(machineFile(state)) }

// machineStamp tells the boot, the namespaces, the rights and the filters of this process apart: a hook may run inside
// an agent's own sandbox, and the same user's terminal outside. It is "" where /proc does not tell.
func machineStamp(proc string) string {
	var b strings.Builder
	for _, name := range []string{"sys/kernel/random/boot_id", "sys/user/max_user_namespaces",
		"sys/user/max_net_namespaces", "sys/kernel/unprivileged_userns_clone",
		"sys/kernel/apparmor_restrict_unprivileged_userns", "self/attr/current"} {
		text, err := os.ReadFile(proc + name)
		if err != nil && name == "sys/kernel/random/boot_id" {
			return ""
		}
		b.WriteString(strings.TrimSpace(string(text)) + "\n")
	}
	for _, name := range []string{"user", "mnt", "pid", "net"} {
		to, err := os.Readlink(proc + "self/ns/" + name)
		if err != nil {
			return ""
		}
		b.WriteString(to + "\n")
	}
	status, err := os.ReadFile(proc + "self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		switch name, _, _ := strings.Cut(line, ":"); name {
		case "Uid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters":
			b.WriteString(line)
		}
	}
	return short(b.String())
}
