package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/dialect/native"
)

func newSchema(f *Factory) *cobra.Command {
	return command("policy schema", some(0, 0), nil, func(context.Context, []string) error {
		text, err := native.Schema()
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := json.Indent(&out, text, "", "  "); err != nil {
			return err
		}
		out.WriteByte('\n')
		_, err = f.IO.Out.Write(out.Bytes())
		return err
	})
}

// watch reports again whenever something about the policies has changed, until it is interrupted.
func (o *validateOptions) watch(ctx context.Context, sets [][]string) error {
	tick := o.Tick
	if tick == nil {
		t := time.NewTicker(time.Second / 2)
		defer t.Stop()
		tick = t.C
	}
	last := ""
	for {
		now := ""
		for _, files := range sets {
			po := o.Policy
			po.Files = files
			b, err := json.Marshal(o.examine(&po))
			if err != nil {
				return err
			}
			now += string(b)
		}
		if now != last {
			if !o.jsonFlag && last != "" {
				fmt.Fprintf(o.IO.Out, "\n%s\n", o.IO.paint(dim, "changed at "+time.Now().Format("15:04:05")))
			}
			if _, err := o.validateAll(sets); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// validateAll reports on each policy.
func (o *validateOptions) validateAll(sets [][]string) (code ExitCode, err error) {
	for _, files := range sets {
		po := o.Policy
		po.Files = files
		c, err := o.validate(&po)
		if err != nil {
			return code, err
		}
		code = worse(code, c)
	}
	return code, nil
}
