package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/approval"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/face/demo"
	"github.com/obstat/obstat/internal/face/server"
	"github.com/obstat/obstat/internal/keep/statedir"
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
	o.Store.Path = statedir.Store(dir)
	opts.Policy = &gate.Files{Names: []string{filepath.Join(a.run.Dir, "obstat.yaml")}, NoPins: true}
	return a, nil
}

// work makes the calls of the demo again and again until ctx ends. Asks wait
// for a person at the console.
func (a *demoAgent) work(ctx context.Context, keep store.Serving, url string) error {
	c, err := demoClient(ctx, keep, url, client.TokenRequest{Kind: "agent", Name: "build", User: "you", Days: 1})
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

// play makes the calls of the demo once, where there is no terminal to stop it with: asks are
// answered by the script, at the server, and each call is shown with its answer.
func (a *demoAgent) play(ctx context.Context, keep store.Serving, url string, out io.Writer) error {
	agent, err := demoClient(ctx, keep, url, client.TokenRequest{Kind: "agent", Name: "build", Days: 1})
	if err != nil {
		return err
	}
	you, err := demoClient(ctx, keep, url, client.TokenRequest{Kind: "person", Name: "you", Days: 1})
	if err != nil {
		return err
	}
	for i := range a.steps {
		st := &a.steps[i]
		call, err := a.run.Call(st)
		if err != nil {
			return err
		}
		call.User = ""
		d, err := agent.Decide(ctx, call, 0)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n  %-5s %s\n        %s\n", st.Says, d.Verdict, visible(server.Text(call)), visible(d.Reason))
		if d.Request != nil {
			answer := client.Answer{Allow: st.Answer != "" && st.Answer[0] != 'n'}
			if rest, always := strings.CutPrefix(st.Answer, "a "); always {
				answer.Scope = approval.Always
				answer.Offer, _ = strconv.Atoi(rest)
			} else if words, no := strings.CutPrefix(st.Answer, "n "); no {
				answer.Words = words
			}
			if _, err := you.Answer(ctx, d.Request.ID, answer); err != nil {
				return err
			}
			if d, err = agent.Claim(ctx, d.Request.ID, client.Claim{Digest: d.Request.Digest}); err != nil {
				return err
			}
			fmt.Fprintf(out, "  you answer at the console: %s\n  %-5s %s\n", cmp.Or(st.Answer, "n"), d.Verdict,
				visible(d.Reason))
		}
		if err := a.do(st, call, d); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nEverything above is in the ledger: obstat log --store %s\nPictures of the console: %s\n",
		statedir.Store(filepath.Dir(a.run.Dir)), pictures())
	return nil
}

// pictures says where the pictures of the console are: in the source, where this is run there.
func pictures() string {
	if dir, err := filepath.Abs(filepath.Join("docs", "console")); err == nil {
		if _, err := os.Stat(filepath.Join(dir, "inbox.png")); err == nil {
			return dir
		}
	}
	return "docs/console in obstat's source"
}

// step makes one call, and carries it out where that is allowed.
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
	if err != nil {
		return nil // no person answered: the next step
	}
	return a.do(s, call, d)
}

// do carries out an allowed call, with the input that a person put in its place.
func (a *demoAgent) do(s *demo.Step, call *obstat.Call, d *client.Decision) error {
	if d.Verdict != obstat.Allow.String() {
		return nil
	}
	input := call.Input
	if d.Input != nil {
		input = d.Input
	}
	return a.run.Do(s, input)
}

// demoClient returns a client with a token of its own.
func demoClient(ctx context.Context, keep store.Serving, url string, t client.TokenRequest) (*client.Client, error) {
	tok, err := server.NewToken(ctx, keep, t, "demo")
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{URL: url, Token: tok.Secret})
}
