package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/explain"
)

// versionJSON is the output of `obstat version --json`.
type versionJSON struct {
	V        int    `json:"v"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(f *Factory) *cobra.Command {
	return command("version", some(0, 0), func(context.Context, []string) error {
		v := thisVersion()
		if f.jsonFlag {
			return writeJSON(f.IO.Out, v)
		}
		text := v.Version
		if v.Revision != "" {
			text += " (" + v.Revision + ")"
		}
		_, err := fmt.Fprintf(f.IO.Out, "obstat %s %s %s\n", text, v.Go, v.Platform)
		return err
	})
}

func thisVersion() versionJSON {
	v := versionJSON{V: explain.Version, Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
