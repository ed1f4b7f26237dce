package minimatch

import (
	"strings"

	"github.com/obstat/obstat/pattern/internal/re"
)

// Tidy reports whether a path has no empty segment but before a leading slash, and none
// that starts with a dot. On a tidy path ** takes any text: most globs that people write,
// such as `src/**/*.go`, are then a few literals with anything between them.
func Tidy(path string) bool {
	if path == "" || path[0] == '.' || path[len(path)-1] == '/' {
		return false
	}
	for {
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return true
		}
		if path = path[i+1:]; path[0] == '/' || path[0] == '.' {
			return false
		}
	}
}

// plainTree returns a tree that says of tidy paths whether segments match them: literals with
// anything between. It is nil for others, such as `src/*.go`, whose * takes no slash.
func plainTree(segs []segment) *re.Node {
	var out []*re.Node
	for i, seg := range segs {
		deep := i > 0 && segs[i-1].kind == segStarStar // and so the slash is seen to
		if i > 0 && !deep {
			out = append(out, re.Char('/'))
		}
		switch {
		case seg.kind == segLiteral && !deep:
			out = append(out, re.Text(seg.lit)...)
		case seg.kind == segStarStar && i == len(segs)-1:
			out = append(out, re.Anything())
		case seg.kind == segStarStar:
		case seg.kind == segGlob && deep && seg.in[0].star:
			out = append(out, re.Anything())
			for _, it := range seg.in[1:] {
				if it.lit == 0 {
					return nil
				}
				out = append(out, re.Char(it.lit))
			}
		default:
			return nil
		}
	}
	return re.Cat(out...)
}
