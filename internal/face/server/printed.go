package server

import (
	"context"
	"fmt"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/ledger"
)

// maskPrinted takes the secrets out of a tool's output before a model reads it, for frameworks that run their tools
// themselves. An output that held some is recorded with their digests, like that of an agent's hook; of any other
// nothing is kept.
func maskPrinted(v *Service, ctx context.Context, r *request[client.Printed]) (*client.Masked, error) {
	in := &r.body
	if len(in.Result) == 0 {
		return nil, bad("give result")
	}
	if err := boundCall(&in.Call, "call", -1); err != nil {
		return nil, err
	}
	if err := r.admit(&in.Call, v.s.shelf); err != nil {
		return nil, err
	}
	out, found := v.s.gate.Printed(in.Result)
	if len(found) == 0 {
		return &client.Masked{}, nil
	}
	state := "ran"
	if in.Failed {
		state = "failed"
	}
	// The call is over: the model gets the masked output also where the store is lost.
	_ = v.s.gate.Report(ctx, &in.Call, &gate.Outcome{State: state, Result: in.Result, Masked: found})
	note := fmt.Sprintf("obstat has masked %d secrets in this result: each stands as %s", len(found), ledger.Mask)
	if len(found) == 1 {
		note = "obstat has masked a secret in this result: it stands as " + ledger.Mask
	}
	return &client.Masked{Result: out, Secrets: len(found), Note: note}, nil
}
