package effect

// nameTable finds the entries of a name: built once, then only read. Most are small, and a
// process that decides one call builds some of them: an index of two-byte slots costs it
// far less than a map would.
type nameTable struct {
	list  []named
	slots []uint16 // place in list plus one, by hash; nil for a short list
	long  int      // length of the longest name
}

// named is an entry: the place in another list of the thing that has the name.
type named struct {
	name string
	at   uint16
	next uint16 // place in list plus one of the next entry of the same name
}

// shortList is the length up to which looking at every name is as fast as a hash.
const shortList = 6

func (t *nameTable) add(name string, at int) {
	t.list = append(t.list, named{name: name, at: uint16(at)})
	t.long = max(t.long, len(name))
}

// index ends the building. The entries of one name are chained in their order.
func (t *nameTable) index() {
	if len(t.list) > shortList {
		size := 16
		for size < 2*len(t.list) {
			size *= 2
		}
		t.slots = make([]uint16, size)
	}
	for i := range t.list {
		if first := t.enter(i); first >= 0 {
			last := first
			for t.list[last].next != 0 {
				last = int(t.list[last].next) - 1
			}
			t.list[last].next = uint16(i + 1)
		}
	}
}

// enter makes entry i found by its name, or returns the one that is.
func (t *nameTable) enter(i int) int {
	if t.slots == nil {
		if first := t.find(t.list[i].name); first != i {
			return first
		}
		return -1
	}
	mask := uint32(len(t.slots) - 1)
	at := hashName(t.list[i].name) & mask
	for ; t.slots[at] != 0; at = (at + 1) & mask {
		if j := int(t.slots[at] - 1); t.list[j].name == t.list[i].name {
			return j
		}
	}
	t.slots[at] = uint16(i + 1)
	return -1
}

// find returns the place in list of the first entry of a name, or -1.
func (t *nameTable) find(name string) int {
	if len(name) > t.long || name == "" {
		return -1
	}
	if t.slots == nil {
		for i := range t.list {
			if t.list[i].name == name {
				return i
			}
		}
		return -1
	}
	mask := uint32(len(t.slots) - 1)
	for at := hashName(name) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		if i := int(t.slots[at] - 1); t.list[i].name == name {
			return i
		}
	}
	return -1
}

// hashName is FNV-1a.
func hashName(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
