package jiuwen

import (
	"os"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect"
)

// TestBuiltinExamples holds our own list to its own examples.
func TestBuiltinExamples(t *testing.T) {
	r := newReader("builtin_rules.yaml", builtinYAML)
	list := r.builtinList(false, true)
	if len(r.Errs) > 0 {
		t.Error(r.Errs)
	}
	ids := []string{"fs_recursive_or_forced_delete", "disk_partition_or_raw_device_write", "download_and_execute", "obfuscated_or_dynamic_execution",
		"reverse_shell_or_bind_shell", "privilege_escalation", "data_exfiltration", "remote_execution_or_lateral_movement", "fork_bomb_or_resource_abuse",
		"system_shutdown_or_reboot"}
	if len(list) != len(ids) {
		t.Fatalf("%d rules, want %d", len(list), len(ids))
	}
	for i, id := range ids {
		if want := "builtin[shell_" + id + "]"; list[i].label != want {
			t.Errorf("rule %d is %s, want %s", i, list[i].label, want)
		}
	}
}

// commands reads a list of commands, one a line.
func commands(t *testing.T, name string) (out []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.SplitSeq(string(b), "\n") {
		if l != "" && !strings.HasPrefix(l, "# ") {
			out = append(out, l)
		}
	}
	return out
}

// strictBash is the setting in which the original was measured.
const strictBash = "permissions: {schema: tiered_policy, permission_mode: strict, tools: {bash: allow}}"

// decide answers a command in the workspace and says which built-in rules hit.
func decide(t *testing.T, l *dialect.Loaded, cmd string) (d obstat.Decision, builtin []string) {
	t.Helper()
	call := shellCall(t, "bash", cmd)
	call.Dir, call.Roots = exampleDir, []string{exampleDir}
	d, trace := l.Policy.Explain(call, &obstat.Snapshot{HomeDir: "/home/user"})
	for _, s := range trace.Questions[0].Steps {
		if s.Stage == stageBuiltin || s.Stage == stageBuiltinDeny {
			for _, r := range s.Hits {
				builtin = append(builtin, r.ID+" "+r.Pattern.Text)
			}
		}
	}
	return d, builtin
}

// TestBuiltinCatches: of what the original's list misses ours catches at least
// 95 in a hundred.
func TestBuiltinCatches(t *testing.T) {
	l := load(t, []byte(strictBash), nil)
	all := commands(t, "builtin-missed.txt")
	var missed, byRule int
	for _, cmd := range all {
		d, builtin := decide(t, l, cmd)
		if d.Verdict == obstat.Allow {
			missed++
			t.Logf("allowed: %s", cmd)
		}
		if len(builtin) > 0 {
			byRule++
		} else {
			t.Logf("no built-in rule: %s: %v %s", cmd, d.Verdict, d.Reason())
		}
	}
	t.Logf("%d dangerous commands: %d allowed, %d caught by a built-in rule", len(all), missed, byRule)
	if missed*100 > 5*len(all) || byRule*100 < 95*len(all) {
		t.Errorf("of %d dangerous commands %d are allowed and only %d are caught by a built-in rule", len(all), missed, byRule)
	}
}

// TestBuiltinLetsGo: of what the original's list flags wrongly ours flags at
// most 2 in a hundred.
func TestBuiltinLetsGo(t *testing.T) {
	l := load(t, []byte(strictBash), nil)
	all := commands(t, "builtin-harmless.txt")
	flagged := 0
	for _, cmd := range all {
		d, builtin := decide(t, l, cmd)
		if len(builtin) > 0 {
			flagged++
			t.Logf("flagged: %s by %s", cmd, builtin)
		} else if d.Verdict != obstat.Allow {
			t.Logf("%v: %s: %s", d.Verdict, cmd, d.Reason())
		}
	}
	if flagged*100 > 2*len(all) {
		t.Errorf("of %d harmless commands %d are flagged", len(all), flagged)
	}
}

// TestOperatorsHarmless: of what the original asks about because of operators,
// quoted ones are let go; real ones are the document's to ask about.
func TestOperatorsHarmless(t *testing.T) {
	l := load(t, []byte(strictBash), nil)
	for _, cmd := range commands(t, "operators-harmless.txt") {
		d, builtin := decide(t, l, cmd)
		want := obstat.Allow
		if strings.Contains(cmd, "|") && !strings.ContainsAny(cmd, `"'`) || strings.Contains(cmd, "&&") || strings.Contains(cmd, ">") {
			want = obstat.Ask
		}
		if d.Verdict != want || len(builtin) > 0 {
			t.Errorf("%s: %v, want %v: %s %s", cmd, d.Verdict, want, d.Reason(), builtin)
		}
	}
}
