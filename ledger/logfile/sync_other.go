//go:build !linux

package logfile

import "os"

func syncData(f *os.File) error { return f.Sync() }
