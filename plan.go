package obstat

import (
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/pattern"
)

// maxPlans bounds how many tools are remembered: servers name theirs as they like.
const maxPlans = 512

// A plan is a pipeline as questions about one tool see it: of each stage that asks
// a list, the rules about that tool. They are looked up when a question gets there.
type plan struct {
	tool  string
	rules []atomic.Pointer[toolRules]  // by stage
	few   [4]atomic.Pointer[toolRules] // room for them
	scan  sync.Once
	last  int // see strict
	// breadths holds how much rules speak for: breadth by *Rule.
	breadths sync.Map
}

// plans is a table of plans by the hash of their tools: a free slot ends a search. To look
// up takes half as long as in a map.
type plans struct {
	slots []*plan // a power of two, at least twice as many as there are plans
	shift uint8   // of a hash, to a slot
	n     int
}

// toolHash hashes a name by its length, its middle and its end, where names of tools differ:
// mcp__github__list_issues and mcp__github__create_issue.
func toolHash(tool string) uint32 {
	n := len(tool)
	if n < 4 {
		return uint32(n) << 30
	}
	return (fourBytes(tool[n-4:]) ^ uint32(n)<<8 ^ uint32(tool[n/2])) * 0x9E3779B1
}

func fourBytes(s string) uint32 {
	_ = s[3]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// find returns the slot of a tool.
func (ps *plans) find(tool string) **plan {
	mask := uint32(len(ps.slots) - 1)
	for at := toolHash(tool) >> (ps.shift & 31); ; at++ {
		slot := &ps.slots[at&mask]
		if *slot == nil || (*slot).tool == tool {
			return slot
		}
	}
}

// with returns the table with another plan.
func (ps *plans) with(p *plan) *plans {
	if ps == nil || ps.n == maxPlans {
		ps = &plans{}
	}
	log := bits.Len(uint(2*ps.n + 1))
	out := &plans{slots: make([]*plan, 1<<log), shift: uint8(32 - log), n: ps.n}
	for _, old := range ps.slots {
		if old != nil {
			*out.find(old.tool) = old
		}
	}
	*out.find(p.tool) = p
	out.n++
	return out
}

// plan returns the plan for a tool.
func (pl *pipeline) plan(tool string) *plan {
	if plans := pl.plans.Load(); plans != nil {
		if p := *plans.find(tool); p != nil {
			return p
		}
	}
	return pl.newPlan(tool)
}

func (pl *pipeline) newPlan(tool string) *plan {
	pl.planning.Lock()
	defer pl.planning.Unlock()
	old := pl.plans.Load()
	if old != nil {
		if p := *old.find(tool); p != nil {
			return p
		}
	}
	p := &plan{tool: strings.Clone(tool)} // it may be in a buffer of the host
	if p.rules = p.few[:]; len(pl.stages) > len(p.few) {
		p.rules = make([]atomic.Pointer[toolRules], len(pl.stages))
	}
	pl.plans.Store(old.with(p))
	return p
}

// strict returns how many stages, from the first, have all the rules about the tool
// that deny or ask.
func (p *plan) strict(pl *pipeline, compiled func(Text) *pattern.Pattern) int {
	p.scan.Do(func() {
		for i := range pl.stages {
			switch stage := pl.stages[i].stage.(type) {
			case Match:
				about := p.about(pl, i)
				if about.all(p.tool, compiled); about.strict > 0 {
					p.last = i + 1
				}
			case When:
				if stage.Is == "" {
					p.last = i + 1
				}
			}
		}
	})
	return p.last
}

// about returns the rules of a stage that are about the plan's tool.
func (p *plan) about(pl *pipeline, stage int) *toolRules {
	r := p.rules[stage].Load()
	if r == nil {
		r = pl.stages[stage].list.about(p.tool)
		p.rules[stage].Store(r)
	}
	return r
}

// subject answers a call of one given subject where the rules are all there is to ask,
// without a walk. It reports false, and nothing else, where rules have conditions or the
// answer takes words.
func (pl *pipeline) subject(tool, text string, o *outcome) bool {
	subjects := [...]Subject{{anyField, text}}
	plan := pl.plan(tool)
	for i := range pl.stages {
		about := plan.about(pl, i)
		if about.list.conds {
			return false
		}
		rank, err := about.among(subjects[:], about.whole, nil)
		switch pl.stages[i].byRule(rank, err, o) {
		case settled:
			return true
		case unusual:
			return false
		}
	}
	o.verdict, o.stage = pl.def, stageDefault
	return true
}
