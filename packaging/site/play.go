// Package site makes the pages that are served as plain files: the playground, and the documentation.
//
// It owns the way from the checkout to those files. Serving them is any web server's business:
// `obstat serve --play DIR`, or a host for static pages.
package site

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/obstat/obstat/packaging"
)

// Engine is the name of the playground's module, packed.
const Engine = "engine.wasm.gz"

// maxEngine bounds what a browser has to load.
const maxEngine = 5 << 20

// Play returns the playground's files. It builds the module from the checkout at root.
func Play(root string) ([]packaging.File, error) {
	from := filepath.Join(root, "internal", "face", "play", "static")
	list, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var out []packaging.File
	for _, e := range list {
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, packaging.File{Name: e.Name(), Mode: 0o644, Data: data})
	}
	module, err := engine(root)
	if err != nil {
		return nil, err
	}
	return append(out, packaging.File{Name: Engine, Mode: 0o644, Data: module}), nil
}

// engine builds the module and packs it; one checkout gives the same bytes each time.
func engine(root string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "obstat-play")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "engine.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w -buildid=",
		"-o", name, "./internal/face/play/wasm")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if words, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the playground's module: %w\n%s", err, words)
	}
	plain, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() > maxEngine {
		return nil, fmt.Errorf("the playground's module has %d bytes, packed, and %d at most: see which package is new "+
			"with `go list -deps ./internal/face/play/wasm`", out.Len(), maxEngine)
	}
	return out.Bytes(), nil
}
