package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/agent"
	"github.com/obstat/obstat/internal/statedir"
)

// undoRecords are files by which a settings file is given back byte for byte. They
// are a convenience: without one the entry is taken out all the same.
type undoRecords struct {
	dir string // "" keeps none
}

// undoDir is where the records are, "" if that is not known.
func undoDir() string {
	dir, err := statedir.Dir(os.Getenv)
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "install")
}

func (r *undoRecords) name(file string) string {
	sum := sha256.Sum256([]byte(file))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:12])+".json")
}

func (r *undoRecords) load(file string) *agent.Undo {
	if r.dir == "" {
		return nil
	}
	data, err := os.ReadFile(r.name(file))
	u := &agent.Undo{}
	if err != nil || json.Unmarshal(data, u) != nil || u.File != file {
		return nil
	}
	return u
}

// save keeps a record. Settings may hold secrets, so that only their owner may
// read it.
func (r *undoRecords) save(u *agent.Undo) {
	data, err := json.Marshal(u)
	if r.dir == "" || err != nil || os.MkdirAll(r.dir, 0o700) != nil {
		return
	}
	_ = os.WriteFile(r.name(u.File), append(data, '\n'), 0o600)
}

func (r *undoRecords) drop(file string) {
	if r.dir != "" {
		_ = os.Remove(r.name(file))
	}
}
