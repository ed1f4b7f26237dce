package server

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"time"
)

// playTypes are the files of a playground, by their ending. Others are not served, whatever the directory has.
var playTypes = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".gz": "application/gzip"}

// playPolicy lets the page run WebAssembly, and connect to nothing but its own files.
const playPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; " +
	"img-src 'self' data:; connect-src 'self'; worker-src 'self'; form-action 'none'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// mountPlay serves the playground's files at /play/. It needs no login: the page has no more than these files, and
// sends nothing.
func (s *Server) mountPlay(mux *http.ServeMux) error {
	if s.opts.Play == "" {
		return nil
	}
	root, err := os.OpenRoot(s.opts.Play)
	if err != nil {
		return fmt.Errorf("the playground: %w", err)
	}
	files := root.FS()
	for _, name := range []string{"index.html", "engine.wasm.gz"} {
		if _, err := fs.Stat(files, name); err != nil {
			return fmt.Errorf("%s is no playground: %w; make play builds one", s.opts.Play, err)
		}
	}
	mux.Handle("GET /play", http.RedirectHandler("/play/", http.StatusSeeOther))
	mux.HandleFunc("GET /play/{$}", func(w http.ResponseWriter, r *http.Request) {
		s.servePlay(w, r, files, "index.html")
	})
	mux.HandleFunc("GET /play/{file}", func(w http.ResponseWriter, r *http.Request) {
		s.servePlay(w, r, files, r.PathValue("file"))
	})
	return nil
}

func (s *Server) servePlay(w http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	kind, known := playTypes[path.Ext(name)]
	data, err := fs.ReadFile(files, name)
	if !known || err != nil {
		s.problem(w, newProblem(http.StatusNotFound, "not-found", "there is no such page", r.URL.Path))
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", playPolicy)
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
