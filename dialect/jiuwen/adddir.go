package jiuwen

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/jsonx"
	"github.com/obstat/obstat/internal/format/pytext"
	"github.com/obstat/obstat/internal/format/tree"
)

// sourceAddDir marks the overrides that add-dir writes.
const sourceAddDir = "cli_add_dir"

// Trusted is the outcome of AddDir.
type Trusted struct {
	Dir          string `json:"normalized"`    // the directory, resolved
	PathPattern  string `json:"path_pattern"`  // of the override for path tools
	ShellPattern string `json:"shell_pattern"` // of the override for shell tools
	// Overrides: the tiered policy is in force, so that they were written.
	Overrides bool `json:"tiered_overrides"`
}

// The mistakes that AddDir knows.
var (
	ErrPathEmpty = errors.New("path is empty")
	ErrPathRoot  = errors.New("path resolves to empty")
)

// AddDir returns the configuration with a directory made trusted:
// external_directory allows it, and in the tiered policy two overrides do, one
// for path tools and one for shell tools. The shell override reads as the
// original writes it, but it is taken to speak of commands that touch nothing
// outside, not of all that hold the name. A relative path starts at cwd, and ~ at
// the world's home.
func AddDir(src []byte, world obstat.World, cwd, dir string) ([]byte, *Trusted, error) {
	real, err := trustedDir(world, cwd, dir)
	if err != nil {
		return nil, nil, err
	}
	t := &Trusted{Dir: real, PathPattern: "re:^" + pytext.Escape(real) + "(?:$|/)",
		ShellPattern: "re:.*" + pytext.Escape(real) + ".*"}
	out, err := t.write(src)
	return out, t, err
}

func trustedDir(world obstat.World, cwd, dir string) (string, error) {
	dir = pytext.Strip(dir)
	if dir == "" {
		return "", ErrPathEmpty
	}
	if name, ok := strings.CutPrefix(dir, "~"); ok && world != nil {
		user, rest, _ := strings.Cut(name, "/")
		if home, ok := world.Home(user); ok {
			dir = home + "/" + rest
		}
	}
	real, ok := resolve(world, cwd, dir)
	switch {
	case !ok:
		return "", fmt.Errorf("invalid path: the links of %s lead in a circle", dir)
	case strings.ContainsAny(real, "\n\r\x00"):
		return "", errors.New("invalid path: it holds a line break")
	case real == "/":
		return "", ErrPathRoot
	}
	return real, nil
}

// write returns the configuration with the directory in it.
func (t *Trusted) write(src []byte) ([]byte, error) {
	sec, err := Section(src)
	if err != nil {
		return nil, err
	}
	if src, err = allowExternal(src, sec, t.Dir); err != nil {
		return nil, err
	}
	if t.Overrides = newReader("", src).schema(sec); !t.Overrides {
		return src, nil
	}
	sum := sha256.Sum256([]byte(t.Dir))
	h := hex.EncodeToString(sum[:])[:16]
	for _, o := range []struct {
		kind, match, pattern string
		tools                category
	}{{"path", "path", t.PathPattern, pathTools}, {"shell", "command", t.ShellPattern, shellTools}} {
		id := "cli_trusted_" + o.kind + "_" + h
		if EntryIndex(sec.Get(listOverrides), id) >= 0 {
			continue
		}
		if src, err = appendOverride(src, id, toolsOf(o.tools), o.match, o.pattern, sourceAddDir); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// allowExternal adds a prefix to external_directory. Where that is one level
// for all, it becomes the level of "*".
func allowExternal(src []byte, sec *tree.Node, dir string) ([]byte, error) {
	ext := sec.Get("external_directory")
	if ext.Is(tree.Object) {
		return format.Set(src, "allow", permissions, "external_directory", dir)
	}
	general := "ask"
	if ext.Is(tree.String) {
		if v, err := obstat.ParseVerdict(strings.ToLower(pytext.Strip(ext.Str))); err == nil {
			general = v.String()
		}
	}
	value := jsonx.Object{{Key: "*", Value: general}, {Key: dir, Value: "allow"}}
	return format.Set(src, value, permissions, "external_directory")
}
