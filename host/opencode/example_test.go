package opencode_test

import (
	"context"
	"fmt"

	"github.com/obstat/obstat/dialect"
	files "github.com/obstat/obstat/dialect/opencode"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/host/opencode"
)

// An instance puts the asks of tools to a human, who replies.
func ExampleInstance() {
	ctx := context.Background()
	l, err := dialect.Load(files.Dialect{}, &dialect.Input{Files: []dialect.File{{Name: "opencode.json",
		Data: []byte(`{"permission": {"bash": {"*": "ask", "git push --force*": "deny"}}}`)}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := opencode.Open(ctx, opencode.Options{Directory: "/p", Gate: gate.Options{Policy: gate.Fixed{Loaded: l}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer in.Close(ctx)
	ask := func(command string) (*opencode.Wait, error) {
		return in.Put(ctx, opencode.Request{SessionID: "s", Permission: "bash", Patterns: []string{command}, Always: []string{"git push *"}})
	}
	w, _ := ask("git push")
	fmt.Println(in.Reply(ctx, w.Request.ID, opencode.Always, ""), w.Result(ctx))
	fmt.Println(ask("git push origin"))
	_, err = ask("git push --force")
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"bash","pattern":"*","action":"ask"},{"permission":"bash","pattern":"git push --force*","action":"deny"}]
}
