package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/obstat/obstat"
)

// errorsJSON is printed by --json where a command fails.
type errorsJSON struct {
	V      int           `json:"v"`
	Errors obstat.Errors `json:"errors"`
}

// writeJSON writes v on one line, its text as it is: no reader of ours is a web
// page.
func writeJSON(w io.Writer, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// writePretty writes v indented, for the commands that print one large object.
func writePretty(w io.Writer, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	_, err = out.WriteTo(w)
	return err
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
