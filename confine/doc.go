// Package confine runs a command inside limits that the kernel holds.
//
// It owns the Profile (plain data: trees, names, hosts, sockets, environment, limits, and the
// list of things that are not enforced), Run, which starts a command under a Profile and tells
// afterwards at which Level it ran, the names and hosts that were refused and the changes of
// the workspace, and Probe, which tells the Level this machine can give.
//
// On Linux a run has user, mount, pid, ipc, uts and network namespaces of its own, a Landlock
// domain, a seccomp filter and no capabilities (level `full`), or, where namespaces are missing,
// Landlock and seccomp alone (level `files`). Run never goes below the level that the Profile
// wants: it returns a *LevelError instead. For macOS a Profile prints as text for
// `sandbox-exec` (Profile.Seatbelt), which is tested as text only. Elsewhere Run returns
// ErrUnsupported.
//
// A program that calls Run calls Main first thing in its main function (tests: in TestMain),
// because Run starts the program's own binary again to set a confinement up from inside.
//
// It does not own policies: it neither decides which paths, names or hosts belong into a
// Profile nor asks anybody. Names that git tracks, for example, are better left out of
// Profile.Hidden (a hidden tracked file looks deleted to `git status`, and `git show` prints it
// anyway); choosing is the caller's part. Nor does it look into connections that it allows.
package confine
