package adkfluent_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/obstat/obstat/dialect/adkfluent"
	host "github.com/obstat/obstat/host/adkfluent"
)

// clampPaths is the document's ClampPathsPolicy, with what its own version
// misses: it cleans the path before it looks, and keeps the other arguments.
func clampPaths(tool string, args map[string]any, base adkfluent.Decision) adkfluent.Decision {
	name, ok := args["path"].(string)
	if !base.IsAllow() || tool != "read_file" || !ok {
		return base
	}
	clean := path.Join("/", name)
	if clean == "/etc" || strings.HasPrefix(clean, "/etc/") {
		return adkfluent.NewDeny("refusing to read /etc/*")
	}
	if !strings.Contains(name, "..") {
		return base
	}
	safe := maps.Clone(args)
	safe["path"] = clean
	return adkfluent.NewAllow(safe)
}

// A refiner rewrites arguments; merging and changing the mode keep it.
func ExamplePlugin() {
	policy := adkfluent.AutoAllow("read_file", "grep").Refine(clampPaths).
		Merge(adkfluent.DenyPatterns(adkfluent.Glob, "*secret*")).
		WithMode(adkfluent.ModeDontAsk)
	plugin, err := host.Open(context.Background(), policy, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"/srv/a.txt", "/srv/../srv/b.txt", "../../etc/passwd", "/./etc/passwd"} {
		args := map[string]any{"path": name, "limit": 5}
		fmt.Println(name, "->", plugin.Before(context.Background(), "read_file", args), args)
	}
	// Output:
	// /srv/a.txt -> map[] map[limit:5 path:/srv/a.txt]
	// /srv/../srv/b.txt -> map[] map[limit:5 path:/srv/b.txt]
	// ../../etc/passwd -> map[error:refusing to read /etc/*] map[limit:5 path:../../etc/passwd]
	// /./etc/passwd -> map[error:refusing to read /etc/*] map[limit:5 path:/./etc/passwd]
}
