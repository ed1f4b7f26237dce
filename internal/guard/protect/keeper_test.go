package protect

import "testing"

func TestKeeper(t *testing.T) {
	var k Keeper
	a := k.Get(&Guarded{Policies: []string{"/p/a"}})
	if k.Get(&Guarded{Policies: []string{"/p/a"}}) != a {
		t.Error("the same files are looked at again")
	}
	if b := k.Get(&Guarded{Policies: []string{"/p/b"}}); b == a || b.Policies[0] != "/p/b" {
		t.Error("other files are not")
	}
	if b := k.Get(&Guarded{Policies: []string{"/p/b"}, Pinned: true}); !b.Pinned {
		t.Error("a pin is not noticed")
	}
}
