//go:build unix

package mcp

import "syscall"

// terminate tells a process to end.
const terminate = syscall.SIGTERM
