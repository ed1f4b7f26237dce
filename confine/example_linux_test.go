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
	p := confine.Profile{Read: system, Execute: system, Env: confine.Env{Keep: []string{"PATH"}}}
	res, err := confine.Run(context.Background(), p, confine.Command{
		Args:   []string{"sh", "-c", "echo hello; getent hosts example.org; ls /home 2>/dev/null; exit 3"},
		Stdout: os.Stdout,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("level", res.Level, "exit", res.Exit)
	for _, r := range res.Refused {
		fmt.Println("refused", r.Kind, r.Name)
	}
	// Output:
	// hello
	// level full exit 3
	// refused name example.org
}
