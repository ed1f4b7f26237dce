//go:build !unix

package mcp

import "os"

// terminate ends a process: there is no gentler way here.
var terminate = os.Kill
