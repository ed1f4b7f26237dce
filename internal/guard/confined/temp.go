package confined

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/confine"
	"github.com/obstat/obstat/paths"
)

const (
	// maxTemp bounds the names below an entry of a temporary directory; one with more is hidden.
	maxTemp = 1_000
	// maxAsked bounds the names below all entries that are asked about in one run, at some 40 µs each: others write
	// there all the time. Those that are left are hidden, and asked about in the next runs.
	maxAsked = 4_000
	// maxTop bounds the entries of the directory itself.
	maxTop = 20_000
)

// temp shows the machine's own temporary directories in layers, where the policy lets code write there: a file
// that a program leaves in /tmp is there afterwards. Elsewhere /tmp is private to the session.
func (m *maker) temp() error {
	p := m.profile()
	if p.Workspace.Mode != confine.Overlay {
		return nil
	}
	for _, dir := range []string{"/tmp", m.Getenv("TMPDIR")} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
			continue
		}
		dir = realOf(dir)
		if !m.isTemp(dir) || slices.Contains(p.Workspace.More, dir) {
			continue
		}
		why := confine.Layered(dir)
		if why == nil {
			why = m.lookAtTemp(dir)
		}
		if why != nil {
			m.gap("show "+dir, why.Error()+"; it is private to the session")
			continue
		}
		p.Workspace.More = append(p.Workspace.More, dir)
		p.Read, p.Execute = append(p.Read, dir), append(p.Execute, dir)
	}
	return nil
}

// isTemp tells whether the policy lets code write a temporary directory, and nothing else is kept in it.
func (m *maker) isTemp(dir string) bool {
	if paths.Inside(dir, m.Home) || paths.Inside(dir, m.State) || paths.Inside(m.root, dir) {
		return false
	}
	d := m.Ask(obstat.FaceWrite, filepath.Join(dir, neutral))
	r := m.Ask(obstat.FaceRead, filepath.Join(dir, neutral))
	return d.Verdict == obstat.Allow && !refuses(&r)
}

// lookAtTemp hides the names that a rule keeps from code. Names that guard the agent are kept when the changes are
// judged.
func (m *maker) lookAtTemp(dir string) error {
	p := m.profile()
	refused := func(name string, _ bool) bool {
		d := m.Ask(obstat.FaceRead, name)
		return refuses(&d)
	}
	found, err := m.memo.walk(dir, obstat.FaceRead, 1, maxTop, refused, nil)
	if err != nil {
		return err
	}
	p.Hidden = append(p.Hidden, found...)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	m.memo.forget(dir, entries)
	m.memo.asked = 0
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if !e.IsDir() || slices.Contains(found, at) || paths.Inside(at, m.root) || m.skip(at) {
			continue
		}
		if m.memo.isLarge(at) {
			m.out.Unasked = append(m.out.Unasked, at)
			continue
		}
		left := maxAsked - m.memo.asked
		inside, err := m.memo.walk(at, obstat.FaceRead, 64, min(maxTemp, left), refused, m.skip)
		if err != nil {
			m.out.Unasked = append(m.out.Unasked, at)
			if left > maxTemp {
				m.memo.large(at)
			}
		}
		p.Hidden = append(p.Hidden, inside...)
	}
	p.Hidden = append(p.Hidden, m.out.Unasked...)
	return nil
}
