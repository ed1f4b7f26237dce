package logfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt is the byte that is locked, far behind the end of any file: on
// Windows no other process can read a locked byte.
func lockAt() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// lockFile waits for the lock of an open file. Closing the file gives it back,
// and so does a crash.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, lockAt())
}

// tryLock takes the lock if no process has it.
func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockAt())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(f *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockAt())
}

func syncDir(string) error { return nil }
