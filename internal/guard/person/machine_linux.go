package person

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// system returns this machine, as /proc shows it. Every process is read once.
func system() *machine {
	seen := map[int]*proc{}
	m := &machine{uid: os.Geteuid(), cgroup: cgroup, open: terminalsOf, title: title, entered: entered(),
		alive: alive, reads: true}
	m.mine = func(exe string) bool { return writable(exe, m.uid) }
	m.get = func(pid int) *proc {
		p, ok := seen[pid]
		if !ok {
			p = readProc(pid)
			seen[pid] = p
		}
		return p
	}
	m.pids = func() (out []int) {
		dir, err := os.Open("/proc")
		if err != nil {
			return nil
		}
		defer dir.Close()
		list, _ := dir.Readdirnames(-1)
		for _, name := range list {
			if pid, err := strconv.Atoi(name); err == nil {
				out = append(out, pid)
			}
		}
		return out
	}
	return m
}

// readProc reads a process, nil where there is none.
func readProc(pid int) *proc {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	p := &proc{pid: pid}
	if err != nil || !p.parse(string(stat)) {
		return nil
	}
	if fi, err := os.Stat(dir + "stat"); err == nil {
		p.uid = int(fi.Sys().(*syscall.Stat_t).Uid)
	}
	if status, err := os.ReadFile(dir + "status"); err == nil {
		p.uid = effective(string(status), p.uid)
	}
	p.exe, _ = os.Readlink(dir + "exe")
	p.args, p.environ = fields0(dir+"cmdline"), fields0(dir+"environ")
	return p
}

// parse reads /proc/PID/stat. The name in parentheses may hold anything, also parentheses.
func (p *proc) parse(stat string) bool {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return false
	}
	p.name = stat[open+1 : end]
	f := strings.Fields(stat[end+1:])
	if len(f) < 20 {
		return false
	}
	for i, to := range map[int]*int{1: &p.parent, 2: &p.group, 3: &p.session, 4: &p.terminal, 5: &p.front} {
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return false
		}
		*to = n
	}
	var err error
	p.started, err = strconv.ParseUint(f[19], 10, 64)
	return err == nil
}

// effective returns the effective user of a status file; the files of a process that
// hides its memory, such as sshd, belong to root.
func effective(status string, otherwise int) int {
	_, rest, _ := strings.Cut(status, "\nUid:")
	if f := strings.Fields(rest); len(f) > 1 {
		if uid, err := strconv.Atoi(f[1]); err == nil {
			return uid
		}
	}
	return otherwise
}

// maxFields bounds the arguments and the environment of a process that are looked at.
const maxFields = 4 << 20

// fields0 reads a file of texts that end with zero bytes.
func fields0(name string) (out []string) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	for _, field := range bytes.Split(data[:min(len(data), maxFields)], []byte{0}) {
		out = append(out, string(field))
	}
	return out[:len(out)-1]
}

// cgroup returns the control group that systemd has put a process into.
func cgroup(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && (f[0] == "0" || f[1] == "name=systemd") && f[2] != "/" {
			return f[2]
		}
	}
	return ""
}

// terminalsOf returns the terminals that a process has open.
func terminalsOf(pid int) (out []int) {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		name, _ := os.Readlink(dir + e.Name())
		if !strings.HasPrefix(name, "/dev/pts/") && !strings.HasPrefix(name, "/dev/tty") {
			continue
		}
		if fi, err := os.Stat(dir + e.Name()); err == nil {
			out = append(out, number(uint64(fi.Sys().(*syscall.Stat_t).Rdev)))
		}
	}
	return out
}

// number returns a device as /proc/PID/stat writes it.
func number(dev uint64) int {
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	return int(minor&0xff | major<<8 | minor>>8<<20)
}

// title names a terminal: 34819 is `pts/3`.
func title(terminal int) string {
	major, minor := terminal>>8&0xfff, terminal&0xff|terminal>>20<<8
	switch {
	case major >= 136 && major <= 143:
		return fmt.Sprintf("pts/%d", (major-136)<<8+minor)
	case major == 4 && minor < 64:
		return fmt.Sprintf("tty%d", minor)
	}
	return fmt.Sprintf("tty %d:%d", major, minor)
}

// writable tells whether a user could have made a program: it, or a directory above,
// is theirs or everybody's. Of root's only places for installed programs count.
func writable(exe string, uid int) bool {
	if uid == 0 {
		for _, dir := range known().words["system"] {
			if strings.HasPrefix(exe, dir) {
				return false
			}
		}
		return true
	}
	for at := exe; ; at = filepath.Dir(at) {
		fi, err := os.Lstat(at)
		if err != nil {
			if at != exe || filepath.Dir(at) == at {
				return true
			}
			continue // it was replaced by a newer version
		}
		st := fi.Sys().(*syscall.Stat_t)
		open := fi.Mode().Perm()&0o002 != 0 && fi.Mode()&os.ModeSticky == 0
		if int(st.Uid) == uid || open && fi.Mode()&os.ModeSymlink == 0 {
			return true
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}

// manyUsers is how many users a namespace of a container has; any process can make one
// with its own user alone.
const manyUsers = 1 << 16

// entered tells whether this is a user namespace that an ordinary process can make, as
// `unshare -Urpf` does: with another view of /proc the agent above would not be seen.
func entered() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return true
	}
	users := 0
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 {
			n, _ := strconv.Atoi(f[2])
			users += n
		}
	}
	return users < manyUsers
}

// alive tells whether the terminal of this process can be opened: one whose other end is
// closed cannot.
func alive() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
