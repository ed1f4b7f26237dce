package changes

import (
	"errors"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/paths"
)

const (
	// mostMerged is the largest file whose contents after a call are kept, so that later changes can be told from it.
	mostMerged = 256 << 10
	// mostCells bounds the comparison of two texts: lines of one times lines of the other, without those in common at
	// both ends.
	mostCells = 4 << 20
)

// keepAfter keeps the contents that a call left in small files. A file that cannot be kept cannot be merged, and is
// put back all the same.
func (s *Store) keepAfter(c *Change) {
	const mostNew = 100 // files that `obstat changes` shows although they were changed again
	made := 0
	for _, d := range c.Differences() {
		if d.After.Kind != File || d.After.Size > mostMerged || d.After.Digest == "" {
			continue
		}
		if d.Before.Kind != File {
			if made++; made > mostNew {
				continue
			}
		}
		if _, err := os.Lstat(s.blob(d.After.Digest)); err == nil {
			continue
		}
		if f, err := openPlain(string(d.Path)); err == nil {
			_, _, _ = s.keepFile(f, d.After.Size)
			f.Close()
		}
	}
}

// A since is a path that something else changed after the call.
type since struct {
	is, after, before State
	by                string // the end of the ID of the call that did, where that is known
}

// isText tells whether all of it are files, of which lines can be told apart.
func (s *since) isText() bool {
	return s.is.Kind == File && s.after.Kind == File && s.before.Kind == File
}

// Merge takes out of the paths that speak against the plan those that only lines of a text speak against which the
// call did not change: they keep these lines, and get the others back.
func (p *Plan) Merge() error {
	var errs []error
	p.Against = slices.DeleteFunc(p.Against, func(g Gap) bool {
		path := string(g.Path)
		since, ok := p.since[path]
		if !ok || !strings.HasPrefix(g.Why, changedSince) {
			return false
		}
		to, err := p.s.merged(path, since)
		if err != nil {
			errs = append(errs, err)
		}
		if to == nil {
			return false
		}
		p.Steps = append(p.Steps, Step{g.Path, since.is, *to})
		return true
	})
	for i := range p.Against {
		why := &p.Against[i].Why
		if rest, ok := strings.CutPrefix(*why, changedSince); ok {
			*why = changedSince + rest + ", on the same lines or not as a text"
		}
	}
	slices.SortFunc(p.Steps, func(a, b Step) int { return byDepth(string(a.Path), string(b.Path)) })
	return errors.Join(errs...)
}

// MayMerge tells whether Merge has not been tried on a text that speaks against the plan.
func (p *Plan) MayMerge(g Gap) bool {
	since, ok := p.since[string(g.Path)]
	return ok && since.isText() && (g.Why == changedSince || g.Why == changedSince+byLater+since.by)
}

// merged returns the state of a path with the call's lines taken back and later ones left, nil where that is not to be
// told apart.
func (s *Store) merged(path string, since since) (*State, error) {
	if !since.isText() || since.is.Size > mostMerged {
		return nil, nil
	}
	after, err := s.Contents(since.after.Digest, mostMerged)
	before, err2 := s.Contents(since.before.Digest, mostMerged)
	now, err3 := os.ReadFile(path)
	if err = errors.Join(err, err2, err3); err != nil || DigestOf(now) != since.is.Digest || !straight(path) {
		return nil, nil // not kept, or changed again
	}
	if !utf8.Valid(after) || !utf8.Valid(before) || !utf8.Valid(now) {
		return nil, nil
	}
	text, ok := merge(string(after), string(now), string(before))
	if !ok {
		return nil, nil
	}
	to := since.is
	if since.is.Mode == since.after.Mode {
		to.Mode = since.before.Mode
	}
	to.Digest, to.Size = DigestOf([]byte(text)), int64(len(text))
	return &to, s.keepText(text)
}

// keepText keeps a text that was made here.
func (s *Store) keepText(text string) error {
	release, err := s.lock(false)
	if err != nil {
		return err
	}
	defer release()
	return s.keepBytes(DigestOf([]byte(text)), []byte(text))
}

// An edit puts lines in the place of others: those from at up to end.
type edit struct {
	at, end int
	lines   []string
}

// merge returns base with the edits of both texts, unless they touch the same lines.
func merge(base, a, b string) (string, bool) {
	of := lines(base)
	ours, okA := edits(of, lines(a))
	theirs, okB := edits(of, lines(b))
	if !okA || !okB {
		return "", false
	}
	all := slices.Concat(ours, theirs)
	slices.SortStableFunc(all, func(x, y edit) int { return x.at - y.at })
	var out strings.Builder
	at := 0
	for i, e := range all {
		if i > 0 && (e.at < all[i-1].end || e.at == all[i-1].at) {
			if slices.Equal(e.lines, all[i-1].lines) && e.at == all[i-1].at && e.end == all[i-1].end {
				continue // both did the same
			}
			return "", false
		}
		out.WriteString(strings.Join(of[at:e.at], ""))
		out.WriteString(strings.Join(e.lines, ""))
		at = e.end
	}
	out.WriteString(strings.Join(of[at:], ""))
	return out.String(), true
}

// lines cuts a text into lines, each with its end.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	out := strings.SplitAfter(text, "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// edits returns how one text becomes another, by their longest common lines; not of texts that are too long.
func edits(a, b []string) (out []edit, ok bool) {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x)*len(y) > mostCells {
		return nil, false
	}
	common := commonLines(x, y)
	for i, j := 0, 0; i < len(x) || j < len(y); {
		if i < len(x) && j < len(y) && x[i] == y[j] {
			i, j = i+1, j+1
			continue
		}
		from, first := i, j
		for (i < len(x) || j < len(y)) && !(i < len(x) && j < len(y) && x[i] == y[j]) {
			if j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1] {
				i++
			} else {
				j++
			}
		}
		out = append(out, edit{head + from, head + i, y[first:j]})
	}
	return out, true
}

// commonLines returns how many lines the rests of two texts have in common, from each pair of lines on.
func commonLines(x, y []string) [][]int32 {
	out := make([][]int32, len(x)+1)
	for i := range out {
		out[i] = make([]int32, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				out[i][j] = out[i+1][j+1] + 1
			} else {
				out[i][j] = max(out[i+1][j], out[i][j+1])
			}
		}
	}
	return out
}

// forgot tells whether the contents that a path had after the call are not to be kept.
func (c *Change) forgot(path Name) bool {
	return slices.ContainsFunc(c.Forgot, func(top Name) bool { return paths.Under(string(top)).Has(string(path)) })
}
