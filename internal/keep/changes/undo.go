package changes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat/paths"
)

// A Step is one path that is put back.
type Step struct {
	Path Name  `json:"path"`
	Now  State `json:"now"` // that the path has before the step
	To   State `json:"to"`  // and gets by it
}

// A Plan is how changes would be taken back. Nothing has been touched yet.
type Plan struct {
	Changes []*Change // the latest first
	Steps   []Step
	// Against are the paths that speak against it: changed since by something else, or not kept.
	Against []Gap
	// Stay are the paths that stay as they are.
	Stay []Gap
	// Unsure: a call was not reported to have ended, so that nothing tells its changes from later ones.
	Unsure bool

	s      *Store
	since  map[string]since // paths that something else changed after the call
	partly []string         // changes of which a path is left out
}

// changedSince is why a path speaks against a plan that Merge may take out of it; byLater goes before the ID of the
// call that changed it, where that is known.
const changedSince, byLater = "it was changed since", ", by the later call "

// Plan says how changes are taken back together; with only, no more of them than lies at or below these paths.
func (s *Store) Plan(list []*Change, only ...string) (*Plan, error) {
	p := &Plan{s: s, Changes: slices.Clone(list), since: map[string]since{}}
	slices.SortFunc(p.Changes, func(a, b *Change) int { return strings.Compare(b.ID, a.ID) })
	want, now := tree{}, tree{} // of the oldest change, after the latest
	for _, c := range p.Changes {
		if c.Undone != "" {
			return nil, fmt.Errorf("%s was taken back already, by %s", c.ID, c.Undone)
		}
		if c.Ended.IsZero() {
			p.Unsure = true
			if err := s.lookAgain(c); err != nil {
				return nil, err
			}
		}
		p.chain(c, want, now, only)
	}
	for path, to := range want {
		p.step(path, now.at(path), to, want)
	}
	if err := p.others(); err != nil {
		return nil, err
	}
	slices.SortFunc(p.Steps, func(a, b Step) int { return byDepth(string(a.Path), string(b.Path)) })
	slices.SortFunc(p.Against, func(a, b Gap) int { return strings.Compare(string(a.Path), string(b.Path)) })
	return p, nil
}

// others looks at the changes that are not taken back. It speaks against paths that another call changed while one of
// these ran: which of the two left them as they are is not known, and the other's change would go as well. Of paths
// that were changed since it names the call that did. One that cannot be read is left out, and told by List.
func (p *Plan) others() error {
	list, err := p.s.List()
	if err != nil && !errors.Is(err, ErrTampered) {
		return err
	}
	steps := map[Name]bool{}
	for _, step := range p.Steps {
		steps[step.Path] = true
	}
	for _, other := range slices.Backward(list) {
		same := func(c *Change) bool { return c.ID == other.ID }
		if other.Undone != "" || slices.ContainsFunc(p.Changes, same) {
			continue
		}
		at := slices.ContainsFunc(p.Changes, other.during)
		if other.Ended.IsZero() && !other.Asked {
			p.Unsure = p.Unsure || slices.ContainsFunc(p.Steps, func(s Step) bool { return other.reaches(string(s.Path)) })
		}
		for _, d := range other.Differences() {
			if steps[d.Path] && at {
				p.against(string(d.Path), "another call changed it at the same time: "+ShortID(other.ID))
			} else if since, ok := p.since[string(d.Path)]; ok && since.is.Equal(&d.After) {
				since.by = ShortID(other.ID)
				p.since[string(d.Path)] = since
			}
		}
	}
	for i, g := range p.Against {
		if since := p.since[string(g.Path)]; g.Why == changedSince && since.by != "" {
			p.Against[i].Why += byLater + since.by
		}
	}
	return nil
}

// reaches tells whether a change may be on a path.
func (c *Change) reaches(path string) bool {
	return slices.ContainsFunc(c.Reach, func(r Reach) bool {
		left := slices.ContainsFunc(r.Except, func(dir string) bool { return paths.Inside(dir, path) })
		return r.Paths.Has(path) && !left
	})
}

// during tells whether another call ran while this one did.
func (c *Change) during(o *Change) bool {
	return c.Began.Before(o.Ended) && o.Began.Before(c.Ended)
}

// chain adds an older change to those that are taken back. The later ones began where it ended, else something
// else changed the path in between, which would be lost.
func (p *Plan) chain(c *Change, want, now tree, only []string) {
	for _, gap := range c.Gaps {
		switch {
		case gap.Path == "" && len(only) > 0: // these paths are known, whatever else the call did
		case gap.Path != "" && !within(string(gap.Path), only):
		case gap.Stays:
			p.Stay = append(p.Stay, gap)
		default:
			p.Against = append(p.Against, gap)
		}
	}
	for _, d := range c.Differences() {
		path := string(d.Path)
		if !within(path, only) && !needed(&d, only) {
			if !slices.Contains(p.partly, c.ID) {
				p.partly = append(p.partly, c.ID)
			}
			continue
		}
		later := want[path]
		switch {
		case later == nil:
			now[path] = &d.After
		case !later.Equal(&d.After):
			p.against(path, "something else changed it between these calls")
		}
		want[path] = &d.Before
	}
}

// needed tells whether a difference is a directory that the call deleted, that is not there, and that one of these
// paths lies in.
func needed(d *Difference, only []string) bool {
	if d.Before.Kind != Dir || d.After.Kind != None {
		return false
	}
	if _, err := os.Lstat(string(d.Path)); err == nil {
		return false
	}
	return slices.ContainsFunc(only, func(p string) bool { return paths.Inside(string(d.Path), p) })
}

// against adds a path that speaks against the plan, once.
func (p *Plan) against(path, why string) {
	if slices.ContainsFunc(p.Against, func(g Gap) bool { return g.Path == Name(path) }) {
		return
	}
	p.Against = append(p.Against, Gap{Path: Name(path), Why: why})
}

// step adds a path, unless it is as it was already.
func (p *Plan) step(path string, now, to *State, want tree) {
	dir := filepath.Dir(path)
	straightNow := straight(dir)
	for want[dir] != nil { // which is put back as well
		dir = filepath.Dir(dir)
	}
	var is State
	var err error
	if straightNow {
		is, err = p.s.stateOf(path, false)
	}
	switch {
	case !straight(dir):
		p.against(path, "its directory has become a link")
	case err != nil && !unreadable(&is, to):
		p.against(path, plain(err))
	case is.Equal(to):
	case !is.Equal(now):
		p.since[path] = since{is: is, after: *now, before: *to}
		p.against(path, changedSince)
	case to.Kind == Other:
		p.against(path, "it was a device, a pipe or a socket")
	case is.Kind == File && is.Size > p.s.limits.Total && is.Digest != to.Digest:
		const text = "it is larger than %s, the most that is kept, and could not be put back; remove it by hand"
		p.against(path, fmt.Sprintf(text, bytesText(p.s.limits.Total)))
	default:
		if to.Kind == File && to.Digest != now.Digest && !unreadable(now, to) {
			err = p.s.sound(to.Digest)
		}
		if err != nil && !unreadable(now, to) {
			p.against(path, err.Error())
			return
		}
		p.Steps = append(p.Steps, Step{Name(path), is, *to})
	}
}

// unreadable tells whether contents that cannot be read, as after `chmod 000 f`, are taken to be those of before.
// Putting the path back finds out.
func unreadable(now, to *State) bool { return now.Kind == File && now.Digest == "" && to.Kind == File }

// straight tells whether no part of a path that exists is a link.
func straight(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err != nil || real == dir
}

func within(path string, only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(top string) bool { return paths.Under(top).Has(path) })
}

// ErrAgainst is the error of a plan that something speaks against.
var ErrAgainst = errors.New("it cannot be taken back as a whole")

// Apply takes the changes back, all of them or none, and returns the change that it made, which can be taken back
// in turn.
func (p *Plan) Apply(of Of) (*Change, error) {
	s := p.s
	if len(p.Against) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrAgainst, p.Against[0])
	}
	release, err := s.lock(true)
	if err != nil {
		return nil, err
	}
	defer release()
	c := &Change{ID: s.newID(), Of: of, Began: s.now(), Keep: s.limits.Age, Partly: p.partly}
	l := &look{s: s.unbounded(), keep: true, seen: tree{}}
	for _, step := range p.Steps {
		c.Reach = append(c.Reach, Reach{Paths: paths.Exactly(string(step.Path))})
		if unreadable(&step.Now, &step.To) {
			now := step.Now
			now.Digest, now.Size = step.To.Digest, step.To.Size
			l.seen[string(step.Path)] = &now
			continue
		}
		if err := l.path(string(step.Path)); err != nil {
			return nil, err
		}
		if !l.seen.at(string(step.Path)).Equal(&step.Now) {
			return nil, fmt.Errorf("%w: %s was changed meanwhile", ErrAgainst, step.Path)
		}
	}
	for _, gap := range l.gaps {
		if l.seen.at(string(gap.Path)).Kind != Other { // a pipe goes, and is not made again
			return nil, fmt.Errorf("%w: %s", ErrAgainst, gap)
		}
	}
	c.Before, c.Gaps = l.seen.list(), l.gaps
	for _, u := range p.Changes {
		c.Undoes = append(c.Undoes, u.ID)
	}
	j := &journal{Change: c, Steps: p.Steps}
	if err := s.begin(j); err != nil {
		return nil, err
	}
	return c, s.run(j)
}
