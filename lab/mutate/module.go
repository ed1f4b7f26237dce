package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// copyModule copies the files of the module at root that git tracks, and new ones that it does not ignore.
func copyModule(root, to string) error {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		err := copyFile(filepath.Join(root, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it is tracked, and was taken out
			return err
		}
	}
	return nil
}

// copyFile copies a file with its mode, into a directory that is made for it.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode())
}
