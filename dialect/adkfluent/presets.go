package adkfluent

// Plan returns a policy that denies every mutating tool and allows the given
// ones at once.
func Plan(allow ...string) *Policy { return build(Config{Mode: ModePlan, Allow: allow}) }

// Bypass returns a policy that allows everything; merge it with denials.
func Bypass() *Policy { return build(Config{Mode: ModeBypass}) }

// AcceptEdits returns a policy that allows mutating tools and asks for the
// rest. The given tools are put on the ask list; a mutating one among them is
// allowed all the same, since the chain comes to the mode before the ask list:
// take it out of the mutating tools to be asked.
func AcceptEdits(ask ...string) *Policy { return build(Config{Mode: ModeAcceptEdits, Ask: ask}) }

// DontAsk returns a policy that allows the given tools and denies the rest, for
// for runs without a human.
func DontAsk(allow ...string) *Policy { return build(Config{Mode: ModeDontAsk, Allow: allow}) }

// Default returns a policy that allows the given tools and asks for the rest.
func Default(allow ...string) *Policy { return build(Config{Allow: allow}) }

// AskBefore returns a policy with the given tools on its ask list.
func AskBefore(tools ...string) *Policy { return build(Config{Ask: tools}) }

// AutoAllow returns a policy with the given tools on its allow list.
func AutoAllow(tools ...string) *Policy { return build(Config{Allow: tools}) }

// Deny returns a policy with the given tools on its deny list.
func Deny(tools ...string) *Policy { return build(Config{Deny: tools}) }

// AllowPatterns returns a policy that allows the tools that one of the patterns
// matches. A pattern that does not compile makes a policy with an error.
func AllowPatterns(mode PatternMode, patterns ...string) *Policy {
	return build(Config{AllowPatterns: patterns, PatternMode: mode})
}

// DenyPatterns returns a policy that denies the tools that one of the patterns
// matches. A pattern that does not compile makes a policy with an error.
func DenyPatterns(mode PatternMode, patterns ...string) *Policy {
	return build(Config{DenyPatterns: patterns, PatternMode: mode})
}
