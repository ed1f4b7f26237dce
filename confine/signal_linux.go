package confine

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long processes have after a request to end.
const grace = 3 * time.Second

// passSignals hands the caller's signals to the run.
func (s *supervisor) passSignals(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-s.c.Signals:
			n, ok := sig.(unix.Signal)
			if !ok || n == unix.SIGINT && hadFromTerminal() {
				continue
			}
			s.ctl.send(message{Op: "signal", Status: int(n)})
			if n == unix.SIGTERM || n == unix.SIGHUP {
				time.AfterFunc(grace, func() { s.ctl.send(message{Op: "signal", Status: int(unix.SIGKILL)}) })
			}
		}
	}
}

// relaySignals hands the caller's signals to the supervisor of a kept run, which has no terminal.
func relaySignals(ctx context.Context, from <-chan os.Signal, ctl *control) {
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-from:
			if n, ok := sig.(unix.Signal); ok {
				ctl.send(message{Op: "signal", Status: int(n)})
			}
		}
	}
}

// hadFromTerminal tells whether the terminal sends its interrupts to this process's group, and so to the command:
// a second one means something else to many programs.
func hadFromTerminal() bool {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
