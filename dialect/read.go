package dialect

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/obstat/obstat"
)

// ReadFiles reads configuration files as they are named on a command line, as
// FILE or LAYER=FILE, lowest precedence first. All that cannot be read is
// reported at once.
func ReadFiles(names []string, read func(name string) ([]byte, error)) ([]File, error) {
	var out []File
	var errs obstat.Errors
	for _, name := range names {
		file := File{Name: name}
		data, err := read(name)
		if layer, rest, ok := strings.Cut(name, "="); ok && isLayer(layer) && rest != "" && errors.Is(err, fs.ErrNotExist) {
			file.Layer, file.Name = layer, rest
			data, err = read(rest)
		}
		if err != nil {
			errs = append(errs, IOError(file.Name, err))
		}
		file.Data = data
		out = append(out, file)
	}
	return out, errs.Fatal()
}

// isLayer tells whether s can name a layer: lower-case letters, digits, - and _
// behind a letter.
func isLayer(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || c == '-' || c == '_')) {
			return false
		}
	}
	return s != ""
}
