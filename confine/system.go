package confine

import (
	"os"
	"slices"
)

// systemTrees are where Unix systems keep programs, libraries, their settings and the few
// facts about the machine that runtimes read.
var systemTrees = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt",
	"/nix/store", "/snap",
	"/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm", "/sys/class/net"}

// SystemTrees lists the directories of this machine that most programs need for reading and
// running. They hold no user's files; /etc may hold secrets that root can read.
func SystemTrees() []string {
	return slices.DeleteFunc(slices.Clone(systemTrees), func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}
