package hook

import (
	"context"
	"os/exec"
	"runtime"
	"time"
)

// Desktop returns a function that shows a notification on the desktop, nil
// where there is none; getenv reads the environment.
func Desktop(getenv func(string) string) func(title, text string) {
	argv := notifier(runtime.GOOS, getenv)
	if argv == nil {
		return nil
	}
	return func(title, text string) {
		program, err := exec.LookPath(argv[0])
		if err != nil {
			return
		}
		// It may hang, and must not hold up the call.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		cmd := exec.CommandContext(ctx, program, append(argv[1:len(argv):len(argv)], title, text)...)
		if cmd.Start() != nil {
			cancel()
			return
		}
		go func() {
			defer cancel()
			_ = cmd.Wait()
		}()
	}
}

// script shows its second argument under its first.
const script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"

// notifier returns the program that shows notifications on a system, and its
// first arguments; nil where there is no screen for them.
func notifier(goos string, getenv func(string) string) []string {
	switch {
	case goos == "darwin" && getenv("SSH_CONNECTION") == "":
		return []string{"osascript", "-e", script}
	case goos == "darwin" || goos == "windows":
		return nil
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		return []string{"notify-send", "--app-name=obstat", "--"}
	}
	return nil
}
