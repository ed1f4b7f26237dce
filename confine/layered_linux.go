package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Layered returns why no layer can be laid over a directory, nil where one can: something is mounted below it.
func Layered(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	mounts, err := mountPoints()
	if err != nil {
		return err
	}
	for _, at := range mounts {
		if at != real && isBelow(at, real) {
			return fmt.Errorf("no layer can be laid over %s: %s is mounted in it", dir, at)
		}
	}
	return nil
}

// mountPoints lists where file systems are mounted, as this process sees them.
func mountPoints() (out []string, err error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return nil, errors.New("/proc/self/mountinfo has a line without a mount point")
		}
		out = append(out, unescape(fields[4]))
	}
	return out, nil
}

// unescape reads `a\040b`, as the kernel writes blanks in the names of mount points.
func unescape(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '\\' && i+3 < len(name) {
			if n, err := strconv.ParseUint(name[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// Gaps tells what this machine would not enforce of a Profile at level full, besides Profile.NotEnforced.
func Gaps(p Profile) []Gap {
	v := newViewer(p)
	if p.Workspace.Mode == Overlay {
		for _, root := range append([]string{v.root}, v.more...) {
			v.layers = append(v.layers, &layers{root: root})
		}
	}
	if err := v.full(); err != nil {
		v.gap("the profile", err.Error())
	}
	return v.gaps
}
