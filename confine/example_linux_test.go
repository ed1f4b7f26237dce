package confine_test

import (
	"context"
	"fmt"
	"os"

	"github.com/obstat/obstat/confine"
)

// A command sees the system and nothing else, and has no network. (The test's main function
// calls confine.Main first.)
func ExampleRun() {
	system := confine.SystemTrees()
	p := confine.Profile{Level: confine.LevelFiles, Read: system, Execute: system, Env: confine.Env{Keep: []string{"PATH"}}}
	res, err := confine.Run(context.Background(), p, confine.Command{
		Args:   []string{"sh", "-c", "echo hello; getent hosts example.org; ls /home 2>/dev/null; exit 3"},
		Stdout: os.Stdout,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("exit", res.Exit) // res.Level and res.Refused tell more
	// Output:
	// hello
	// exit 3
}
