package obstat_test

import (
	"reflect"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/dialect/kit"
)

// TestViewMethods: dialect/kit tells authors of the very methods that the engine looks for.
func TestViewMethods(t *testing.T) {
	for _, pair := range [][2]reflect.Type{
		{reflect.TypeFor[kit.PartView](), reflect.TypeFor[obstat.PartViewMethods]()},
		{reflect.TypeFor[kit.SpellingView](), reflect.TypeFor[obstat.SpellingViewMethods]()},
		{reflect.TypeFor[kit.PrefixView](), reflect.TypeFor[obstat.PrefixViewMethods]()},
		{reflect.TypeFor[kit.EffectView](), reflect.TypeFor[obstat.EffectViewMethods]()},
		{reflect.TypeFor[kit.Outliner](), reflect.TypeFor[obstat.OutlinerMethods]()},
		{reflect.TypeFor[kit.Placer](), reflect.TypeFor[obstat.PlacerMethods]()},
		{reflect.TypeFor[kit.Scratch](), reflect.TypeFor[obstat.ScratchMethods]()},
	} {
		if !pair[0].Implements(pair[1]) || !pair[1].Implements(pair[0]) {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
}
