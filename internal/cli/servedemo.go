package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/demo"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/store"
)

// A demoAgent makes the calls of the demo through a server.
type demoAgent struct {
	run   *demo.Run
	steps []demo.Step
}

// demonstrate makes the sample project of the demo in a temporary directory, and
// has the server decide by its policy and keep everything beside it.
func (o *serveOptions) demonstrate(ctx context.Context, opts *server.Options) (*demoAgent, error) {
	dir, err := os.MkdirTemp("", "obstat-demo-")
	if err != nil {
		return nil, err
	}
	a := new(demoAgent)
	if a.steps, err = demo.Steps(); err != nil {
		return nil, err
	}
	if a.run, err = demo.Start(ctx, dir, nil); err != nil {
		return nil, err
	}
	if err := a.run.Close(); err != nil { // the server opens the store
		return nil, err
	}
	o.Store.Path = demo.StorePath(dir)
	opts.Policy = &gate.Files{Names: []string{filepath.Join(a.run.Dir, "opencode.json")}, NoPins: true}
	return a, nil
}

// work makes the calls of the demo again and again until ctx ends. What asks waits
// for a person at the console.
func (a *demoAgent) work(ctx context.Context, keep store.Serving, url string) error {
	tok, err := server.NewToken(ctx, keep, client.TokenRequest{Kind: "agent", Name: "build", User: "you", Days: 1}, "demo")
	if err != nil {
		return err
	}
	c, err := client.New(client.Options{URL: url, Token: tok.Secret})
	if err != nil {
		return err
	}
	for round := 1; ctx.Err() == nil; round++ {
		for i := range a.steps {
			if err := a.step(ctx, c, &a.steps[i], round); err != nil {
				return err
			}
		}
	}
	return nil
}

// step makes one call, and does what it is about where that is allowed.
func (a *demoAgent) step(ctx context.Context, c *client.Client, s *demo.Step, round int) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(1500 * time.Millisecond):
	}
	call, err := a.run.Call(s)
	if err != nil {
		return err
	}
	call.Session, call.User = fmt.Sprint("demo ", round), ""
	d, err := c.Decide(ctx, call, 5*time.Minute)
	if err != nil || d.Verdict != "allow" {
		return nil // denied, or nobody was there: the next step
	}
	input := call.Input
	if d.Input != nil {
		input = d.Input
	}
	return a.run.Do(s, input)
}
