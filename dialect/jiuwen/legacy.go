package jiuwen

import (
	"net/url"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/format/tree"
)

// legacy is the tool-level matcher that is in force without schema:
// tiered_policy. A deny of either source wins; otherwise the tool's own entry
// speaks before defaults. Rules, overrides and built-in rules are not read.
func legacy() obstat.Pipeline {
	deny := obstat.SetOf(obstat.Deny)
	return obstat.Pipeline{
		Stages: []obstat.Stage{
			obstat.Match{Name: stageToolDeny, Rules: listTools, Settle: deny},
			obstat.Match{Name: "legacy defaults: deny", Rules: listDefaults, Settle: deny},
			obstat.Match{Name: stageTool, Rules: listTools},
			obstat.Match{Name: "legacy defaults", Rules: listDefaults},
		},
		Default: obstat.Ask,
		Amend:   []obstat.Stage{obstat.Check{Name: stageExternal, Check: checkExternal}},
	}
}

// argTexts returns the texts that a pattern of the legacy matcher (and of owner_scopes)
// is matched against: every text argument as it is, a url's host and so on, the
// directories above a path. Empty texts match nothing.
func argTexts(args *tree.Node) (out []string) {
	if !args.Is(tree.Object) {
		return nil
	}
	for _, m := range args.Members {
		if !m.Value.Is(tree.String) || m.Value.Str == "" {
			continue
		}
		out = append(out, m.Value.Str)
		switch m.Key {
		case "url":
			out = append(out, urlTexts(m.Value.Str)...)
		case "path", "file_path":
			out = append(out, pathTexts(m.Value.Str)...)
		}
	}
	return out
}

// urlTexts returns the parts of a URL that a pattern may name.
func urlTexts(text string) (out []string) {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	netloc := u.Host
	if u.User != nil {
		netloc = u.User.String() + "@" + u.Host
	}
	for _, s := range []string{strings.ToLower(u.Hostname()), netloc} {
		if s != "" {
			out = append(out, s)
		}
	}
	return append(out, u.Scheme+"://"+netloc)
}

// pathTexts returns the directories above a path, each bare and with a slash.
func pathTexts(text string) (out []string) {
	for _, p := range parents(text) {
		out = append(out, p, p+"/")
	}
	return out
}

// parents are those of pathlib, of a path: it drops "." and
// doubled slashes first, keeps "..", and ends a relative path at ".".
func parents(text string) (out []string) {
	root := ""
	switch {
	case strings.HasPrefix(text, "//") && !strings.HasPrefix(text, "///"):
		root = "//"
	case strings.HasPrefix(text, "/"):
		root = "/"
	}
	var parts []string
	for part := range strings.SplitSeq(text, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	parts = parts[:min(len(parts), maxParents)]
	for i := len(parts) - 1; i >= 0; i-- {
		p := root + strings.Join(parts[:i], "/")
		if p == "" {
			p = "."
		}
		out = append(out, p)
	}
	return out
}

// maxParents bounds how many directories a path is taken to have; no file
// system has room for more, and each is a subject of its own.
const maxParents = 256
