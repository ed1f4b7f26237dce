package chorus_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat"
)

// thousand is a profile of 1,000 patterns: many are alike, fifty look around,
// and one makes a backtracking matcher go round for ever.
func thousand() string {
	var allow, ask []string
	for i := range 500 {
		allow = append(allow, fmt.Sprintf("tool:bash:cmd%d( [\\w./-]+)*", i))
	}
	for i := range 449 {
		ask = append(ask, fmt.Sprintf("tool:(create_file|str_replace):dir%d/.*\\.(py|go)", i))
	}
	for i := range 50 {
		ask = append(ask, fmt.Sprintf("tool:git:push remote%d (?!main|master).*", i))
	}
	ask = append(ask, "tool:bash:(a+)+$")
	data, _ := json.Marshal(map[string]any{"permissions": map[string]any{"allow": allow, "ask": ask}})
	return string(data)
}

// workload returns the i-th action of the workload and its answer.
func workload(i int) (tool, action string, want obstat.Verdict) {
	n := i / 8
	switch i % 8 {
	case 0:
		return "bash", fmt.Sprintf("tool:bash:cmd%d src/a.py -x", n%500), obstat.Allow
	case 1:
		return "bash", fmt.Sprintf("tool:bash:cmd%d; rm -rf /", n%500), obstat.Deny
	case 2:
		return "create_file", fmt.Sprintf("tool:create_file:dir%d/x/y.go", n%449), obstat.Ask
	case 3:
		return "create_file", fmt.Sprintf("tool:create_file:dir%d/x/y.c", n%449), obstat.Deny
	case 4:
		return "git_push", fmt.Sprintf("tool:git:push remote%d feature/%d", n%50, n), obstat.Ask
	case 5:
		return "git_push", fmt.Sprintf("tool:git:push remote%d main", n%50), obstat.Deny
	case 6:
		return "bash", "tool:bash:" + strings.Repeat("a", 40), obstat.Ask
	}
	return "bash", "tool:bash:" + strings.Repeat("a", 40) + "!", obstat.Deny
}

// 100,000 checks against 1,000 patterns: every answer is right, and none is a
// fault. BenchmarkChecks says how long the slowest took.
func TestHundredThousandChecks(t *testing.T) {
	pol := policy(t, thousand())
	if n := strings.Count(thousand(), `"tool:`); n != 1000 {
		t.Fatalf("%d patterns, want 1000", n)
	}
	got := map[obstat.Verdict]int{}
	for i := range 100_000 {
		tool, action, want := workload(i)
		d := pol.Decide(&obstat.Call{Tool: tool, Subjects: []string{action}}, nil)
		got[d.Verdict]++
		if d.Verdict != want || len(d.Faults) > 0 {
			t.Fatalf("%s: %s, want %s (%s)", action, d.Verdict, want, d.Reason())
		}
	}
	if got[obstat.Allow] != 12_500 || got[obstat.Ask] != 37_500 || got[obstat.Deny] != 50_000 {
		t.Errorf("%v", got)
	}
}

// A pattern that cannot be answered within its steps denies, with the reason,
// and however often it is asked.
func TestOutOfTimeDenies(t *testing.T) {
	pol := policy(t, `{"permissions":{"allow":["tool:bash:(a*)*(a*)*\\1\\2[bc]","tool:bash:.*"],"ask":[]}}`)
	for range 3 {
		d := pol.Decide(&obstat.Call{Tool: "bash", Subjects: []string{"tool:bash:" + strings.Repeat("a", 60)}}, nil)
		if d.Verdict != obstat.Deny || len(d.Faults) != 1 || !strings.Contains(d.Reason(), "ran out of time") || d.Faults[0].Pos.Line != 1 {
			t.Fatalf("%s: %s %v", d.Verdict, d.Reason(), d.Faults)
		}
	}
}

// BenchmarkChecks reports the slowest check of the workload, in the time that its
// thread computed. Run it with -benchtime 100000x.
func BenchmarkChecks(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pol := policy(b, thousand())
	worst := map[bool]time.Duration{}
	i := 0
	for b.Loop() {
		tool, action, _ := workload(i)
		start := threadTime()
		pol.Decide(&obstat.Call{Tool: tool, Subjects: []string{action}}, nil)
		look := tool == "git_push"
		worst[look] = max(worst[look], threadTime()-start)
		i++
	}
	b.ReportMetric(float64(worst[false].Microseconds()), "µs-max")
	b.ReportMetric(float64(worst[true].Microseconds()), "µs-max-lookaround")
}

// BenchmarkOutOfTime is a pattern with a reference that is given up.
func BenchmarkOutOfTime(b *testing.B) {
	pol := policy(b, `{"permissions":{"allow":["tool:bash:(a*)*(a*)*\\1\\2[bc]"],"ask":[]}}`)
	c := &obstat.Call{Tool: "bash", Subjects: []string{"tool:bash:" + strings.Repeat("a", 60)}}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var worst time.Duration
	for b.Loop() {
		start := threadTime()
		pol.Decide(c, nil)
		worst = max(worst, threadTime()-start)
	}
	b.ReportMetric(float64(worst.Microseconds()), "µs-max")
}
