package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runAttack is the test's binary as an attacker.
func runAttack(name string) {
	runtime.LockOSThread()
	fmt.Println("BEGAN")
	f := attackCode[name]
	if f == nil {
		panic("no attack " + name)
	}
	if err := f(); err != nil {
		fmt.Println("failed:", err)
		return
	}
	fmt.Println("HARM")
}

func env(name string) string { return os.Getenv(name) }
func other(name string) string {
	return env("OTHER") + "/" + name
}
func victim() int { n, _ := strconv.Atoi(env("VICTIM")); return n }

// call makes a raw system call that returns a descriptor or 0.
func call(number uintptr, args ...uintptr) error {
	for len(args) < 6 {
		args = append(args, 0)
	}
	_, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
	if errno != 0 {
		return errno
	}
	return nil
}

// ask connects and prints the secret that the other end sends.
func ask(network, address string) error {
	d := net.Dialer{Timeout: 3 * time.Second}
	conn, err := d.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(3 * time.Second))
	conn.Write([]byte("x"))
	b := make([]byte, 100)
	n, err := conn.Read(b)
	if err != nil {
		return err
	}
	fmt.Println(string(b[:n]))
	return nil
}

func sockets(domain, kind, proto int) error {
	fd, err := unix.Socket(domain, kind, proto)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func pointer[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

func printFile(f *os.File, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, f)
	return err
}

func fdFile(fd int, err error) (*os.File, error) { return os.NewFile(uintptr(fd), "fd"), err }

var attackCode = map[string]func() error{
	"openat-inherited": func() error { return printFile(fdFile(unix.Openat(251, "secret.txt", unix.O_RDONLY, 0))) },
	"fchdir-inherited": func() error {
		if err := unix.Fchdir(251); err != nil {
			return err
		}
		return printFile(os.Open("secret.txt"))
	},
	"shm": func() error {
		id, _ := strconv.Atoi(env("SHM"))
		b, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
		if err != nil {
			return err
		}
		fmt.Println(string(b[:10]))
		return nil
	},
	"inotify": func() error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(fd, env("OTHER"), unix.IN_ALL_EVENTS)
		return err
	},
	"opath": func() error {
		fd, err := unix.Open(other("secret.txt"), unix.O_PATH, 0)
		if err != nil {
			return err
		}
		return printFile(os.Open(fmt.Sprintf("/proc/self/fd/%d", fd)))
	},
	"handle": func() error {
		h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "/etc", 0)
		if err != nil {
			return err
		}
		at, err := unix.Open("/etc", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(at, h, unix.O_RDONLY)
		return err
	},
	"openat2": func() error {
		at, err := unix.Open(env("WS"), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		return printFile(fdFile(unix.Openat2(at, "../../other/secret.txt", &unix.OpenHow{Flags: unix.O_RDONLY})))
	},
	"suid-open": func() error {
		return madeSetuid(call(unix.SYS_OPENAT, cwd, text("s"), unix.O_CREAT|unix.O_WRONLY, 0o4755))
	},
	"suid-openat2": func() error {
		_, err := unix.Openat2(unix.AT_FDCWD, "s", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
		return madeSetuid(err)
	},
	"suid-mknod": func() error { return madeSetuid(unix.Mknod("s", unix.S_IFREG|0o4755, 0)) },
	"suid-tmpfile": func() error {
		fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o4755)
		if err != nil {
			return err
		}
		return madeSetuid(unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, "s", unix.AT_SYMLINK_FOLLOW))
	},
	"suid-fchmod": func() error {
		fd, err := unix.Open("s", unix.O_CREAT|unix.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		return madeSetuid(unix.Fchmod(fd, 0o4755))
	},
	"setxattr": func() error { return unix.Setxattr(other("victim.txt"), "user.evil", []byte("x"), 0) },
	"exchange": func() error {
		os.WriteFile("mine", []byte("evil"), 0o644)
		return unix.Renameat2(unix.AT_FDCWD, "mine", unix.AT_FDCWD, other("victim.txt"), unix.RENAME_EXCHANGE)
	},
	"mmap": func() error {
		fd, err := unix.Open(other("victim.txt"), unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		b, err := unix.Mmap(fd, 0, 4, unix.PROT_WRITE|unix.PROT_READ, unix.MAP_SHARED)
		if err == nil {
			b[0] = 'X'
		}
		return err
	},
	"copyrange": func() error {
		os.WriteFile("mine", []byte("evil"), 0o644)
		in, _ := unix.Open("mine", unix.O_RDONLY, 0)
		out, err := unix.Open(other("victim.txt"), unix.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.CopyFileRange(in, nil, out, nil, 4, 0)
		return err
	},
	"truncate": func() error { return unix.Truncate(other("victim.txt"), 0) },
	"rdtrunc": func() error {
		_, err := unix.Open(other("victim.txt"), unix.O_RDONLY|unix.O_TRUNC, 0)
		return err
	},
	"opentree": func() error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		if err != nil {
			return err
		}
		return printFile(fdFile(unix.Openat(fd, env("OTHER")[1:]+"/secret.txt", unix.O_RDONLY, 0)))
	},
	"fsopen": func() error { _, err := unix.Fsopen("tmpfs", 0); return err },
	"cloneuser": func() error {
		return cloneUser()
	},
	"caps": func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var now [2]unix.CapUserData
		if err := unix.Capget(&header, &now[0]); err != nil || now[0].Effective == 0 {
			return errors.Join(err, errors.New("none"))
		}
		return nil
	},
	"ptrace": func() error { return unix.PtraceAttach(victim()) },
	"vmread": func() error {
		b := make([]byte, 16)
		at := victimAddress()
		_, err := unix.ProcessVMReadv(victim(), []unix.Iovec{{Base: &b[0], Len: 16}}, []unix.RemoteIovec{{Base: at, Len: 16}}, 0)
		return err
	},
	"mem": func() error { _, err := os.Open("/proc/" + env("VICTIM") + "/mem"); return err },
	"getfd": func() error {
		pfd, err := unix.PidfdOpen(victim(), 0)
		if err != nil {
			return err
		}
		return printFile(fdFile(unix.PidfdGetfd(pfd, 0, 0)))
	},
	"pidsignal": func() error {
		pfd, err := unix.PidfdOpen(victim(), 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(pfd, unix.SIGKILL, nil, 0)
	},
	"tcp4":      func() error { return ask("tcp", "127.0.0.1:"+env("PORT")) },
	"tcp6":      func() error { return ask("tcp", "[::1]:"+env("PORT")) },
	"tcp0":      func() error { return ask("tcp", "0.0.0.0:"+env("PORT")) },
	"tcpmapped": func() error { return ask("tcp", "[::ffff:127.0.0.1]:"+env("PORT")) },
	"tcp127":    func() error { return ask("tcp", "127.1.2.3:"+env("PORT")) },
	"mptcp": func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		if err != nil {
			fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0) // a kernel without it: the plain way
		}
		if err != nil {
			return err
		}
		port, _ := strconv.Atoi(env("PORT"))
		return unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
	},
	"udp": func() error { return ask("udp", "127.0.0.1:"+env("UPORT")) },
	"ownip": func() error {
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			return err
		}
		err = errors.New("no address")
		for _, a := range addrs {
			if err = ask("tcp", net.JoinHostPort(a.(*net.IPNet).IP.String(), env("PORT"))); err == nil {
				return nil
			}
		}
		return err
	},
	"raw":           func() error { return sockets(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet":        func() error { return sockets(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"uevent":        func() error { return sockets(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT) },
	"alg":           func() error { return sockets(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"vsock":         func() error { return sockets(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"unix-other":    func() error { return ask("unix", other("agent.sock")) },
	"unix-home":     func() error { return ask("unix", env("HOME")+"/agent.sock") },
	"unix-ws":       func() error { return ask("unix", env("WS")+"/agent.sock") },
	"unix-tmp":      func() error { return ask("unix", env("TMPSOCK")) },
	"unix-abstract": func() error { return ask("unix", "@"+env("ABSTRACT")) },
	"unix-link": func() error {
		os.Symlink(env("HOME"), "h")
		return ask("unix", "h/agent.sock")
	},
	"unix-proc": func() error { return ask("unix", "/proc/"+env("VICTIM")+"/cwd/agent.sock") },
	"unix-dgram": func() error {
		conn, err := net.Dial("unixgram", env("HOME")+"/dgram.sock")
		if err != nil {
			return err
		}
		_, err = conn.Write([]byte("x"))
		return err
	},
	"iouring": func() error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 4, pointer(&params))
	},
	"bpf": func() error {
		attr := [12]uint32{2, 4, 4, 1} // an array of one number
		return call(unix.SYS_BPF, 0, pointer(&attr), 48)
	},
	"uffd": func() error { return call(unix.SYS_USERFAULTFD, 0) },
	"perf": func() error {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
			Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return err
	},
	"keyctl": func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err },
	"addkey": func() error {
		_, err := unix.AddKey("user", "confine-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	},
	"tiocsti": func() error {
		m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
		if err != nil {
			return err
		}
		if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		s, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return err
		}
		c := byte('x')
		return call(unix.SYS_IOCTL, s.Fd(), unix.TIOCSTI, pointer(&c))
	},
	"clock": func() error {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
			return err
		}
		return call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, pointer(&now))
	},
	"resolve-tcp": func() error {
		r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}}
		ips, err := r.LookupIP(context.Background(), "ip6", "registry.test")
		if err != nil {
			return err
		}
		return ask("tcp", net.JoinHostPort(ips[0].String(), "443"))
	},
	// serve is no attack: it listens on PORTS until its input ends.
	"serve": func() error {
		for address := range strings.FieldsSeq(env("PORTS")) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					io.WriteString(conn, "hello from inside\n")
					conn.Close()
				}
			}()
		}
		if env("SERVE_FOREVER") != "" {
			select {}
		}
		io.Copy(io.Discard, os.Stdin)
		return nil
	},
	// nested is no attack: it runs a confinement inside a confinement.
	"nested": func() error {
		fmt.Println(Probe(context.Background()))
		p := Profile{Read: SystemTrees(), Execute: SystemTrees(), Env: Env{Keep: []string{"PATH"}}}
		c := Command{Args: []string{"sh", "-c", "echo inner; cat " + env("WS") + "/a.txt"}, Stdout: os.Stdout, Stderr: os.Stdout}
		_, err := Run(context.Background(), p, c)
		fmt.Println("wants full:", err)
		p.Level = LevelFiles
		res, err := Run(context.Background(), p, c)
		fmt.Println("wants files:", res.Level, err)
		return err
	},
	"acct": func() error { return call(unix.SYS_ACCT, 0) },
}

const cwd = ^uintptr(-unix.AT_FDCWD - 1)

func text(s string) uintptr { b := append([]byte(s), 0); return uintptr(unsafe.Pointer(&b[0])) }

func madeSetuid(err error) error {
	info, serr := os.Stat("s")
	if err == nil && serr == nil && info.Mode()&os.ModeSetuid == 0 {
		err = errors.New("no set-user-id bit")
	}
	return errors.Join(err, serr)
}

// victimAddress is a mapped address of the victim: that of its program's start.
func victimAddress() uintptr {
	b, err := os.ReadFile("/proc/" + env("VICTIM") + "/maps")
	if err != nil {
		return 0x400000
	}
	var start uintptr
	fmt.Sscanf(string(b), "%x-", &start)
	return start
}

// cloneUser starts a program in a new user namespace.
func cloneUser() error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return cmd.Run()
}
