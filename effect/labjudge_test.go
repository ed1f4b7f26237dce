package effect

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// labFS is the fixture as an analysis knows it.
type labFS struct{}

func (labFS) Home(user string) (string, bool) { return labHome, user == "" || user == "u" }
func (labFS) Readlink(p string) (string, bool) {
	to, ok := map[string]string{labProject + "/link": "a.txt", labProject + "/out-of-here": "../other"}[p]
	return to, ok
}
func (labFS) IsDir(p string) bool {
	return slices.Contains([]string{"/", "/home", labHome, labProject, labProject + "/sub", labProject + "/src", labProject + "/.git", labHome + "/other", labHome + "/.ssh", "/tmp", "/etc"}, p)
}

func labOptions() *Options {
	return &Options{Dir: labProject, Roots: []string{labProject}, FS: labFS{}}
}

// unsaid compares what a command did with what the analysis says of it, and returns what was seen
// but not said. An analysis that says it does not see everything has said so; one that calls the
// command read-only has not.
func unsaid(s *observed, an *Analysis) (out []string) {
	vague := !an.ReadOnly && (!an.Full || slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Kind == Code }))
	for _, p := range s.Wrote {
		if !vague && !ownPlace(p) && !an.says(p, Write, Delete) {
			out = append(out, "writes "+p)
		}
	}
	for _, p := range s.Deleted {
		if !vague && !ownPlace(p) && !an.says(p, Delete, Write) {
			out = append(out, "deletes "+p)
		}
	}
	for _, p := range s.Ran {
		if !vague && !an.runs(path.Base(p)) {
			out = append(out, "runs "+p)
		}
	}
	for _, host := range s.Net {
		if host == labResolver && asksAtStart(s.Cmd) {
			continue
		}
		if !vague && !slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Kind == Connect }) {
			out = append(out, "connects to "+host)
		}
	}
	for _, kind := range s.Secrets {
		if an.ReadOnly && !slices.ContainsFunc(an.Effects, givesAway) {
			out = append(out, "prints a secret of the "+kind)
		}
	}
	return out
}

// labResolver is the name server of the lab's root, which nobody answers at.
const labResolver = "192.0.2.53"

// asksAtStart reports whether a library of the program asks for this machine's own name whenever it is started, by
// `curl --version` too.
func asksAtStart(cmd string) bool { return strings.HasPrefix(cmd, "curl ") }

// givesAway reports whether an effect is said to print a secret, or to read files among which the
// fixture's secrets are: rules for these are put to it.
func givesAway(e Effect) bool {
	return e.Secret || e.Sensitive != "" || e.Kind == Read && (e.Target().Has(labProject+"/.env") || e.Target().Has(labHome+"/.ssh/id_rsa") || e.Target().Has(labHome+"/.netrc"))
}

// says reports whether an effect of one of the kinds covers a path, or lies below it: a directory
// changes when a file in it does.
func (a *Analysis) says(p string, kinds ...Kind) bool {
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind == System && !a.ReadOnly && !strings.HasPrefix(p, labHome) {
			return true
		}
		if !slices.Contains(kinds, e.Kind) || e.Harmless {
			continue
		}
		if e.Unnamed || e.Tags != 0 && e.Path == "" {
			return true // the program's own books, or files that nobody names
		}
		for _, set := range []interface{ Has(string) bool }{e.Target(), e.RealTarget()} {
			if set.Has(p) || set.Has(path.Dir(p)) && path.Dir(p) != labProject && path.Dir(p) != labHome || backup(set.Has, p) {
				return true
			}
		}
	}
	return false
}

// backup reports whether p is a backup beside a path that has is true of: `a.txt~` of `a.txt`.
func backup(has func(string) bool, p string) bool {
	for end := len(p) - 1; end > 0 && p[end] != '/'; end-- {
		if p[end-1] != '/' && has(p[:end]) {
			return true
		}
	}
	return false
}

// runs reports whether the analysis has the program among its commands.
func (a *Analysis) runs(name string) bool {
	return slices.ContainsFunc(a.Commands, func(c Command) bool { return c.Program == name })
}

// ownState are the places in a home directory where programs keep caches, logs, histories and
// settings of their own. A read-only command may leave something there: `npm ls` writes a log,
// `rpm -q` makes its database.
var ownState = []string{".cache/", ".npm/", ".config/go/", ".config/configstore/", ".gnupg/", ".local/state/", ".local/share/", ".gem/", ".composer/", ".dotnet/", ".gradle/",
	".deno/", ".bun/", ".cargo/", ".rustup/", ".terraform.d/", ".config/gcloud/", ".config/lftp/", ".config/procps/", ".config/rclone/", ".rpmdb/", ".slocdata/",
	".byobu/", ".cpanm/", ".distcc/", ".gambit_history/", ".config/htop/", ".keychain/", ".lpass/", ".config/mc/", ".mycli.log/", ".myclirc/", ".config/neofetch/", ".siege/", ".wsl-config/",
	".config/deluge/", ".b2_account_info/", ".b2_account_info-journal/"}

// ownPlace reports whether a path is a place in the home directory where programs keep caches,
// logs and histories of their own: read-only commands leave something there, too.
func ownPlace(p string) bool {
	rel, ok := strings.CutPrefix(p, labHome+"/")
	if !ok { // caches of the machine, which the lab cannot write
		return strings.Contains(p, "/__pycache__") || strings.HasPrefix(p, "/var/cache/") || strings.HasPrefix(p, "/var/lib/selinux/") || p == "/etc/.pwd.lock" ||
			p == "/var/lib/libuuid/clock.txt" || strings.HasPrefix(p, "/var/lib/dnf/") || p == "/home/.odbc.ini"
	}
	if rel == "project/.git/index" {
		return true // git keeps the times of files there, also when it only looks
	}
	for _, own := range ownState {
		if rel+"/" == own || strings.HasPrefix(rel+"/", own) || strings.HasPrefix(own, rel+"/") {
			return true
		}
	}
	return false
}

// silent returns the kinds of effects that an analysis says for certain and that were not seen:
// possible noise.
func silent(s *observed, an *Analysis) (out []string) {
	for i := range an.Effects {
		e := &an.Effects[i]
		switch {
		case e.Harmless || !e.Certain:
		case e.Kind == Write && len(s.Wrote) == 0, e.Kind == Delete && len(s.Deleted) == 0, e.Kind == Connect && len(s.Net) == 0:
			out = append(out, fmt.Sprintf("%s %s", e.Kind, e.Raw))
		}
	}
	return out
}
