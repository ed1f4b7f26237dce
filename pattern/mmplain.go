package pattern

import "strings"

// tidy reports whether a path has no empty segment but before a leading slash, and none
// that starts with a dot. On a tidy path ** takes any text: most globs that people write,
// such as `src/**/*.go`, are then a few literals with anything between them.
func tidy(path string) bool {
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

// plainShape returns the shape that segments have for tidy paths; nil where that does not
// say all, as for `src/*.go`, whose * takes no slash.
func plainShape(segs []segment) *Shape {
	w := shapeWalk{exact: true}
	for i, seg := range segs {
		deep := i > 0 && segs[i-1].kind == segStarStar // and so the slash is seen to
		if i > 0 && !deep {
			w.cur = append(w.cur, '/')
		}
		switch {
		case seg.kind == segLiteral && !deep:
			w.cur = append(w.cur, []rune(seg.lit)...)
		case seg.kind == segStarStar && i == len(segs)-1:
			w.stretch(true)
		case seg.kind == segStarStar:
		case seg.kind == segGlob && deep && seg.in[0].star:
			w.stretch(true)
			for _, it := range seg.in[1:] {
				if it.lit == 0 {
					return nil
				}
				w.cur = append(w.cur, it.lit)
			}
		default:
			return nil
		}
	}
	w.flush()
	sh := w.shape()
	return &sh
}
