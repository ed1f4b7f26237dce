package obstat

// Names for tests of other packages' copies of these methods.
type (
	PartViewMethods     = partView
	SpellingViewMethods = spellingView
	PrefixViewMethods   = prefixView
	EffectViewMethods   = effectView
	OutlinerMethods     = outliner
	PlacerMethods       = placer
	ScratchMethods      = scratch
)
