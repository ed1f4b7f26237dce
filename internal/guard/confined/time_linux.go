package confined

import (
	"os"
	"syscall"
)

// noWait opens neither a link nor, waiting for a writer, a pipe.
const noWait = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// changeTime returns when a file was last changed in any way, in nanoseconds. Unlike its time of modification, no
// program can choose it.
func changeTime(info os.FileInfo) int64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return sys.Ctim.Nano()
	}
	return info.ModTime().UnixNano()
}
