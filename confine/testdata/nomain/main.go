// Command nomain confines a command and does not call confine.Main.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/obstat/obstat/confine"
)

func main() {
	_, err := confine.Run(context.Background(), confine.Profile{}, confine.Command{Args: []string{"true"}, Dir: "/"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
