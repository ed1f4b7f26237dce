package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: lines find [-most N] DIR... | lines count -obstat BIN [-dirs DIR] FILE")
	}
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	most := flags.Int("most", 60, "find: commands of a project")
	binary := flags.String("obstat", "obstat", "count: the binary")
	dirs := flags.String("dirs", "", "count: the directory of the checkouts (default: an empty project)")
	verbose := flags.Bool("v", false, "count: print each command that is not allowed, and why")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	if args[0] == "find" {
		return find(out, *most, flags.Args())
	}
	c := &counter{binary: *binary, dirs: *dirs, verbose: *verbose}
	return c.count(out, flags.Args())
}
