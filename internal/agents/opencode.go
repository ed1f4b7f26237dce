package agents

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// opencode installs its plugin package into every directory with settings, and
// where there are plugins it waits for that: without a network, for ever. It does
// not where a lock file says that the package is there.

const openCodeLock = `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}` + "\n"

// openCodeModules is in the one file of a node_modules that obstat made.
const openCodeModules = "made by obstat install opencode --offline\n"

// offline returns the changes that let opencode start without a network.
func offline(plugin string) []Change {
	dir := filepath.Dir(filepath.Dir(plugin))
	return []Change{
		{Name: filepath.Join(dir, "package-lock.json"), Edit: func(old []byte) ([]byte, error) {
			if old != nil {
				return old, nil // it knows of packages of its own
			}
			return []byte(openCodeLock), nil
		}},
		// A directory is all that is looked for; a file makes one.
		{Name: filepath.Join(dir, "node_modules", ".obstat"), Edit: func(old []byte) ([]byte, error) {
			entries, _ := os.ReadDir(filepath.Join(dir, "node_modules"))
			// While this is written there is the lock of it.
			if old == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !strings.HasPrefix(e.Name(), "..obstat.") }) {
				return nil, nil
			}
			return []byte(openCodeModules), nil
		}},
	}
}

// online takes away what offline made.
func online(plugin string) []Change {
	dir := filepath.Dir(filepath.Dir(plugin))
	drop := func(mine string) func([]byte) ([]byte, error) {
		return func(old []byte) ([]byte, error) {
			if bytes.Equal(old, []byte(mine)) {
				return nil, nil
			}
			return old, nil
		}
	}
	return []Change{
		{Name: filepath.Join(dir, "package-lock.json"), Edit: drop(openCodeLock)},
		{Name: filepath.Join(dir, "node_modules", ".obstat"), Edit: drop(openCodeModules), Dir: true},
	}
}

// NeedsNetwork tells whether opencode, with this plugin, waits for the network
// when it starts.
func NeedsNetwork(plugin string) bool {
	dir := filepath.Dir(filepath.Dir(plugin))
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@opencode-ai", "plugin")); err == nil {
		return false
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil || !bytes.Contains(lock, []byte("@opencode-ai/plugin")) {
		return true
	}
	_, err = os.Stat(filepath.Join(dir, "node_modules"))
	return err != nil
}
