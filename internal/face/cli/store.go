package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/desk"
	"github.com/obstat/obstat/internal/keep/sqlite"
	"github.com/obstat/obstat/store"
)

// storeOptions name the database of a command's ledger, requests and grants.
type storeOptions struct {
	Path string `flag:"store"`
}

// open opens the store. One that is not there is an error: a command that only
// looks does not make one.
func (o *storeOptions) open(ctx context.Context) (*sqlite.Store, error) {
	if o.shared() {
		return nil, usagef("this reads a store of this machine; for one that servers share there are their console and their routes")
	}
	path, err := o.path()
	if err != nil {
		return nil, err
	}
	if !sqlite.Exists(path) {
		return nil, obstat.Errors{{Code: obstat.CodeMissing, Pos: obstat.Pos{File: path},
			Msg:  "there is no store here: no gate has run yet",
			Hint: "name another with --store, or see one at work with obstat demo"}}
	}
	return sqlite.Open(ctx, path)
}

// named fills in the store that no flag names: OBSTAT_STORE has it, or names a file that has it as @FILE. A
// password of a database is not seen in the list of processes then.
func (o *storeOptions) named() error {
	name := o.Path
	if name == "" {
		name = os.Getenv("OBSTAT_STORE")
	}
	if file, ok := strings.CutPrefix(name, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name = strings.TrimSpace(string(text))
	}
	o.Path = name
	return nil
}

// shared tells whether the store is one that servers share, and no file.
func (o *storeOptions) shared() bool { return store.Shared(o.Path) }

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

// grantsOptions are the options of obstat grants.
type grantsOptions struct {
	*Factory
	Store storeOptions
	All   bool `flag:"all"`
}

func newGrants(f *Factory) *cobra.Command {
	o := &grantsOptions{Factory: f}
	cmd := command("grants", some(0, 0), o, o.run)
	revoke := &grantsOptions{Factory: f}
	cmd.AddCommand(command("grants revoke", some(0, -1), revoke, revoke.revoke))
	return cmd
}

// grantsJSON is the output of obstat grants --json.
type grantsJSON struct {
	V      int               `json:"v"`
	Grants []*approval.Grant `json:"grants"`
}

func (o *grantsOptions) run(ctx context.Context, _ []string) error {
	store, err := o.Store.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	now := time.Now()
	grants, err := store.Grants(ctx, now)
	if err != nil {
		return err
	}
	return o.show(grantsJSON{1, append([]*approval.Grant{}, grants...)}, func(s *screen) {
		if len(grants) == 0 {
			s.printf("no approval is remembered\n")
		}
		for _, g := range grants {
			s.grant(g, now)
		}
	})
}

func (s *screen) grant(g *approval.Grant, now time.Time) {
	what := g.Tool + ", this very call"
	if len(g.Rules) > 0 {
		var texts []string
		for _, r := range g.Rules {
			texts = append(texts, cmp.Or(r.Text, string(r.Rule)))
		}
		what = strings.Join(texts, " and ")
	} else if g.About != "" {
		what = g.Tool + " " + g.About
	}
	until := "until it is taken back"
	if !g.Expires.IsZero() {
		until = "for " + g.Expires.Sub(now).Round(time.Second).String()
	}
	s.printf("%s\n  %s\n", s.io.paint(bold, visible(g.ID)), clip(visible(what), s.width-2))
	s.printf("  %s %s, by %s on %s, %s\n", g.Scope, visible(g.Key), visible(g.By),
		g.Created.Local().Format(time.DateTime), until)
}

func (o *grantsOptions) revoke(ctx context.Context, ids []string) error {
	if len(ids) == 0 != o.All {
		return usagef("name grants, or --all of them")
	}
	if _, err := o.meant(o.Store.stored()); err != nil {
		return err
	}
	store, err := o.Store.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	grants, err := store.Grants(ctx, time.Now())
	if err != nil {
		return err
	}
	byID := map[string]*approval.Grant{}
	for _, g := range grants {
		byID[g.ID] = g
		if o.All {
			ids = append(ids, g.ID)
		}
	}
	for _, id := range ids {
		g := byID[id]
		if g == nil {
			return fmt.Errorf("there is no grant %q in force; obstat grants lists them", id)
		}
		// The record comes first: a database that is made anew from the ledger must
		// not bring the grant back.
		if err := store.Append(ctx, gate.GrantRecord(g, userName())); err != nil {
			return fmt.Errorf("%s is not taken back, for the ledger cannot be written: %w", id, err)
		}
		if err := store.Revoke(ctx, id, time.Now()); err != nil {
			return err
		}
		if !o.jsonFlag {
			fmt.Fprintf(o.IO.Out, "taken back: %s\n", visible(id))
		}
	}
	if o.jsonFlag {
		return writeJSON(o.IO.Out, revokedJSON{1, append([]string{}, ids...)})
	}
	return nil
}

// revokedJSON is the output of obstat grants revoke --json.
type revokedJSON struct {
	V       int      `json:"v"`
	Revoked []string `json:"revoked"`
}
