package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/obstat/obstat/client"
)

// A test suite runs in a project, without the keys of whoever runs the agent.
func ExampleConfined() {
	cmd := client.Confined(context.Background(), "go", "test", "./...")
	cmd.Dir = "/src/app"
	out, err := cmd.CombinedOutput()
	fmt.Println(string(out), err)
}

func TestConfined(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do echo \"[$a]\"; done\nexit 125\n"
	if err := os.WriteFile(filepath.Join(dir, "obstat"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	cmd := client.Confined(t.Context(), "sh", "-c", "a b")
	out, err := cmd.Output()
	if err == nil || cmd.ProcessState.ExitCode() != client.ExitNotStarted {
		t.Errorf("it ended with %v", err)
	}
	if want := "[run]\n[--]\n[sh]\n[-c]\n[a b]\n"; !slices.Equal(out, []byte(want)) {
		t.Errorf("%s", out)
	}
}
