package confine

import (
	"os"
	"path/filepath"
	"slices"
)

// files builds the rules of level files: Landlock alone. A tree that holds hidden names is
// granted child by child, since Landlock can only add rights on the way down.
func (v *viewer) files(temp string) error {
	for _, tree := range v.sortedTrees() {
		if isBelow(tree, "/proc") {
			continue
		}
		v.grant(tree, v.trees[tree])
	}
	v.rules = append(v.rules, rule{"/proc", mayRead}, rule{temp, mayAll}) // no /dev/pts: it holds the terminals of others
	for _, name := range devices {
		v.rules = append(v.rules, rule{"/dev/" + name, mayRead | mayWrite | mayIoctl})
	}
	return v.filesGaps()
}

// grant gives a tree its rights, except for the hidden names inside.
func (v *viewer) grant(path string, r rights) {
	if v.isHidden(path) {
		return
	}
	if r&(mayWrite|mayDelete) != 0 || !v.holdsHidden(path) {
		v.rules = append(v.rules, rule{path, r})
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			v.grant(filepath.Join(path, e.Name()), r)
		}
	}
}

func (v *viewer) holdsHidden(dir string) bool {
	return slices.ContainsFunc(v.hidden, func(h string) bool { return isBelow(h, dir) })
}

// filesGaps tells the things that Landlock alone cannot hold. A name that the Profile wants
// protected is a reason to refuse, unless the Profile's own list of gaps has it.
func (v *viewer) filesGaps() error {
	v.gap("modes, owners, times and attributes of files outside",
		"Landlock does not cover chmod, chown, utime and setxattr")
	v.gap("seeing that files exist, their sizes, and where links lead", "Landlock does not cover stat and readlink")
	v.gap("seeing other processes, and their priorities",
		"there is no pid namespace; neither their memory nor their limits nor, from Landlock ABI 6, signals reach them")
	v.gap("shared memory, semaphores and queues of System V, and message queues of POSIX", "there is no ipc namespace")
	if len(v.p.Network.Hosts)+len(v.p.Network.Localhost) > 0 || v.p.Network.AllLocalhost {
		v.gap("network", "names need a network namespace; with hosts allowed, every host is reachable")
	}
	if len(v.p.Sockets) > 0 {
		v.gap("unix sockets", "with some allowed, all are reachable: Landlock before ABI 9 does not tell them apart")
	}
	for _, list := range []struct {
		word  string
		names []string
	}{{"hide ", v.p.Hidden}, {"keep unchanged ", v.p.ReadOnly}} {
		for _, given := range list.names {
			for _, name := range v.names(given) {
				if err := v.filesName(list.word, given, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (v *viewer) filesName(word, given, name string) error {
	if v.rightsOf(name)&(mayWrite|mayDelete) == 0 {
		return nil
	}
	g := Gap{word + given, "it lies in a tree that is written, and Landlock cannot take one name out of that"}
	if !slices.ContainsFunc(v.p.NotEnforced, func(n Gap) bool { return n.What == g.What }) {
		return &LevelError{Want: LevelFull, Have: LevelFiles, Why: g.String()}
	}
	v.gaps = append(v.gaps, g)
	return nil
}
