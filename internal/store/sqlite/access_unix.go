//go:build unix

package sqlite

import "syscall"

// writable tells why a file cannot be written, without opening it: closing a
// file of SQLite's drops the locks that this process has on it.
func writable(path string) error {
	const write = 2
	return syscall.Access(path, write)
}
