package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// mounted looks at a change inside a container, on a directory of this machine
// that it is given.
func (k *check) mounted(e *effect.Effect) *Finding {
	if e.Where != "container" || e.Kind != effect.Write && e.Kind != effect.Delete || e.Harmless || e.Raw == "" {
		return nil
	}
	for i := e.Command - 1; i >= 0; i-- {
		c := &k.a.Commands[i]
		switch c.Program {
		case "docker", "podman", "nerdctl":
		default:
			continue
		}
		inside, mounts := mountsOf(c)
		at := e.Raw
		if !path.IsAbs(at) {
			at = path.Join(inside, at)
		}
		for _, m := range mounts {
			rest, below := strings.CutPrefix(path.Clean(at), m[1])
			switch {
			case !below && strings.HasPrefix(m[1], strings.TrimSuffix(path.Clean(at), "/")+"/"):
				rest = "" // a directory above it
			case !below || rest != "" && rest[0] != '/' && m[1] != "/":
				continue
			}
			host := k.resolve(c.Dir, m[0])
			if host.Abs == "" {
				continue
			}
			to := effect.Effect{Kind: effect.Delete, Path: path.Join(host.Abs, rest), Real: path.Join(host.Real, rest), Raw: e.Raw, Glob: strings.ContainsAny(rest, "*?["), Recursive: e.Recursive, Command: -1}
			if f := k.changes(&to); f != nil {
				return f
			}
		}
		return nil
	}
	return nil
}

// mountsOf returns the directory that a container works in, and what it is given:
// here and there.
func mountsOf(c *effect.Command) (dir string, mounts [][2]string) {
	words := c.Args()
	for i := range words {
		flag, value, ok := strings.Cut(likely(&words[i]), "=")
		if !ok && i+1 < len(words) {
			value = likely(&words[i+1])
		}
		switch flag {
		case "-w", "--workdir":
			dir = value
		case "-v", "--volume":
			here, there, _ := strings.Cut(value, ":")
			there, _, _ = strings.Cut(there, ":")
			mounts = append(mounts, [2]string{here, path.Clean("/" + there)})
		case "--mount":
			var m [2]string
			for field := range strings.SplitSeq(value, ",") {
				switch k, v, _ := strings.Cut(field, "="); k {
				case "source", "src":
					m[0] = v
				case "target", "destination", "dst":
					m[1] = path.Clean("/" + v)
				}
			}
			mounts = append(mounts, m)
		}
	}
	return dir, mounts
}

// likely returns a word as far as it is known, or what it looks like.
func likely(w *shell.Word) string {
	if w.Known || strings.Contains(w.Shape(), shell.Unknown) {
		return w.Text
	}
	return w.Shape()
}

// transfers looks at a copy from another machine, or from a store, to this one.
func (k *check) transfers(c *effect.Command) *Finding {
	ops, after := operands(c.Args())
	ops = append(ops, after...)
	if len(ops) < 2 || strings.Contains(ops[len(ops)-1].Text, ":") {
		return nil
	}
	from, to := ops[len(ops)-2].Text, ops[len(ops)-1].Text
	if flag(c.Args(), "--recursive", "-r") || ops[0].Text == "sync" || len(ops) > 1 && ops[1].Text == "sync" || c.Program == "rclone" {
		return k.fills(c, k.resolve(c.Dir, to).Abs)
	}
	return k.path(to+"/"+base(from), c.Dir, c.Text, false)
}

// fills: files of any name may appear in a directory.
func (k *check) fills(c *effect.Command, dir string) *Finding {
	for i := range k.items() {
		if it := &k.items()[i]; dir != "" && !it.common && inside(fold(dir), it.path) {
			return &Finding{Part: c.Text, Why: "it would put files in " + dir + ", and one could be " + it.name + ", " + it.what + "; only a person allows that"}
		}
	}
	return nil
}

// unpacks looks at programs that put files of any name in a directory, or files
// that a list names, and are known for something else.
func (k *check) unpacks(c *effect.Command) *Finding {
	args := c.Args()
	if len(args) == 0 {
		return nil
	}
	ops, _ := operands(args)
	switch c.Program {
	case "python", "python3":
		if len(args) > 2 && args[0].Text == "-m" && (args[1].Text == "zipfile" || args[1].Text == "tarfile") && flag(args[2:], "-e", "--extract") {
			return k.fills(c, k.resolve(c.Dir, dirAfter(ops, 2)).Abs)
		}
	case "jar", "ar":
		if strings.Contains(args[0].Text, "x") {
			return k.fills(c, c.Dir)
		}
	case "dpkg", "dpkg-deb":
		if flag(args, "-x", "-X", "--extract", "--vextract", "-R", "--raw-extract") {
			return k.fills(c, k.resolve(c.Dir, dirAfter(ops, 1)).Abs)
		}
	case "wget":
		if flag(args, "-nH", "-nd", "--no-host-directories", "--no-directories") && flag(args, "-r", "-m", "--recursive", "--mirror") {
			return k.fills(c, c.Dir)
		}
		return k.listedIn(c, "-i", "--input-file")
	case "curl":
		return k.listedIn(c, "-K", "--config")
	case "aria2c":
		return k.listedIn(c, "-i", "--input-file")
	}
	return nil
}

// dirAfter returns operand n, or the directory that the command is in.
func dirAfter(ops []wordT, n int) string {
	if n < len(ops) {
		return ops[n].Text
	}
	return "."
}

// listedIn looks into the file that a flag names.
func (k *check) listedIn(c *effect.Command, flags ...string) *Finding {
	args := c.Args()
	for i := range args {
		name, value, ok := strings.Cut(args[i].Text, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1].Text
		}
		if p := k.resolve(c.Dir, value); slices.Contains(flags, name) && p.Abs != "" {
			return k.named(p.Abs)
		}
	}
	return nil
}
