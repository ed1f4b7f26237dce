package person

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// system returns this machine, by sysctl. The environment of programs that come with
// macOS cannot be read; agents are seen by their names and by the environment of all
// others.
func system() *machine {
	m := &machine{uid: os.Geteuid(), cgroup: func(int) string { return "" }, open: func(int) []int { return nil },
		alive: alive,
		title: func(terminal int) string { return fmt.Sprintf("tty %d:%d", terminal>>24, terminal&0xffffff) }}
	m.get = readProc
	m.mine = func(exe string) bool {
		for _, dir := range known().words["system"] {
			if strings.HasPrefix(exe, dir) {
				return false
			}
		}
		return true
	}
	m.pids = func() (out []int) {
		list, _ := unix.SysctlKinfoProcSlice("kern.proc.uid", m.uid)
		for i := range list {
			out = append(out, int(list[i].Proc.P_pid))
		}
		return out
	}
	return m
}

// readProc reads a process, nil where there is none.
func readProc(pid int) *proc {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return nil
	}
	p := &proc{pid: pid, parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid), front: int(k.Eproc.Tpgid),
		uid: int(k.Eproc.Ucred.Uid)}
	p.name = unix.ByteSliceToString(k.Proc.P_comm[:])
	p.started = uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec)
	if k.Eproc.Tdev != -1 {
		p.terminal = int(k.Eproc.Tdev)
	}
	p.session, _ = unix.Getsid(pid)
	if data, err := unix.SysctlRaw("kern.procargs2", pid); err == nil {
		p.exe, p.args, p.environ = arguments(data)
	}
	return p
}

// arguments reads the answer of kern.procargs2: how many arguments, the program, zero
// bytes, the arguments, the environment.
func arguments(data []byte) (exe string, args, environ []string) {
	if len(data) < 4 {
		return "", nil, nil
	}
	n := int(binary.LittleEndian.Uint32(data))
	path, rest, _ := bytes.Cut(data[4:], []byte{0})
	texts := strings.Split(string(bytes.TrimLeft(rest, "\x00")), "\x00")
	n = min(max(n, 0), len(texts))
	return filepath.Clean(string(path)), texts[:n], texts[n:]
}

// alive tells whether the terminal of this process can be opened.
func alive() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
