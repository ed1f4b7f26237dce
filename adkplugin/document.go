package adkplugin

import (
	"context"
	"errors"

	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/plugin"

	dialect "github.com/obstat/obstat/dialect/adkfluent"
	"github.com/obstat/obstat/host/adkfluent"
)

// Plugin is adk-fluent's permission_plugin(policy, handler, memory): it covers
// every tool call of the app that it is installed in, sub-agents included. Where
// the policy asks, the handler is asked, once for each call if there is a memory;
// without a handler such a call is denied.
func Plugin(policy *dialect.Policy, handler adkfluent.Handler, memory *adkfluent.Memory) (*plugin.Plugin, error) {
	return Options{Name: "adkf_permission_plugin"}.Plugin(policy, &adkfluent.Options{Handler: handler, Memory: memory})
}

// Plugin is Plugin with facts for its gate that ADK does not know, and
// with the gate's own options, such as where its ledger is.
func (o Options) Plugin(policy *dialect.Policy, opts *adkfluent.Options) (*plugin.Plugin, error) {
	g, err := o.document(policy, opts)
	if err != nil {
		return nil, err
	}
	return plugin.New(plugin.Config{Name: o.Name, BeforeToolCallback: g.beforeTool, BeforeModelCallback: g.beforeModel})
}

// Callback is adk-fluent's make_permission_callback(policy, handler, memory): the
// same for one agent, where the app cannot be reached. Streaming tools and agents
// that run as tools are not before it; wrap them.
func Callback(policy *dialect.Policy, handler adkfluent.Handler,
	memory *adkfluent.Memory) (llmagent.BeforeToolCallback, error) {
	g, err := Options{}.document(policy, &adkfluent.Options{Handler: handler, Memory: memory})
	if err != nil {
		return nil, err
	}
	return g.beforeTool, nil
}

func (o Options) document(policy *dialect.Policy, opts *adkfluent.Options) (*gate, error) {
	if policy == nil {
		return nil, errors.New("adkplugin: no policy")
	}
	p, err := adkfluent.Open(context.Background(), policy, opts)
	if err != nil {
		return nil, err
	}
	return &gate{document: p, opts: o}, nil
}
