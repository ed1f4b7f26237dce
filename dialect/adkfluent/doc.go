// Package adkfluent is the dialect of adk-fluent's permission policies: exact
// tool names, patterns over tool names and a mode, walked in a fixed chain of
// eleven steps.
//
// It owns the policy as data ([Policy], its constructors, Merge and WithMode),
// its JSON and YAML files ([Dialect]), decisions in the document's own words
// ([Decision]). It does not decide anything itself: a Policy becomes an
// [obstat.Program], and the engine walks the chain. The plugin, the callback
// before each tool and the record of approvals are package host/adkfluent's.
package adkfluent
