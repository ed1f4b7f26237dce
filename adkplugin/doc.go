// Package adkplugin guards every tool call of an app built with the Go Agent
// Development Kit: each is put to a [Guard] before the tool runs.
//
// It owns the plugin, how an answer reaches ADK (arguments rewritten in place, a
// denial as the tool's result, ADK's own tool confirmation as the way to ask),
// and the two places that plugins of ADK do not reach: agents that run as tools
// ([NewAgentTool]) and streaming tools ([Wrap]). It does not decide: the Guard
// does, an obstat gate or a [Policy] alone. [Plugin] and [Callback] are what
// adk-fluent's document has under these names, on package host/adkfluent.
package adkplugin
