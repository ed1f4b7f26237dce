package cli

import (
	"context"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/desk"
	"github.com/obstat/obstat/internal/store/sqlite"
)

// storeOptions name the database of a command's ledger, requests and grants.
type storeOptions struct {
	Path string
}

func (o *storeOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Path, "store", "", "database `file` of ledger, requests and grants (default: obstat/obstat.db where the system keeps state)")
}

// open opens the store. One that is not there is an error: a command that only
// looks does not make one.
func (o *storeOptions) open(ctx context.Context) (*sqlite.Store, error) {
	path, err := o.path()
	if err != nil {
		return nil, err
	}
	if !sqlite.Exists(path) {
		return nil, obstat.Errors{{Code: obstat.CodeMissing, Pos: obstat.Pos{File: path}, Msg: "there is no store here: no gate has run yet",
			Hint: "name another with --store, or see one at work with obstat demo"}}
	}
	return sqlite.Open(ctx, path)
}

// path returns the database file.
func (o *storeOptions) path() (string, error) {
	if o.Path != "" {
		return o.Path, nil
	}
	return sqlite.DefaultPath()
}

// make opens the store, and makes one where there is none.
func (o *storeOptions) make(ctx context.Context) (*sqlite.Store, error) {
	path, err := o.path()
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, path)
}

// sit makes it known that a person answers requests of the store here.
func (o *storeOptions) sit() (leave func(), err error) {
	path, err := o.path()
	if err != nil {
		return nil, err
	}
	return desk.Sit(path)
}

// userName returns the name of the user at this terminal.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}
