package confine_test

import (
	"fmt"

	"github.com/obstat/obstat/confine"
)

func ExampleProfile_String() {
	p := confine.Profile{
		Read:      []string{"/usr", "/etc"},
		Execute:   []string{"/usr"},
		Workspace: confine.Workspace{Root: "/home/u/shop", Mode: confine.Through},
		Hidden:    []string{"/home/u/shop/.env"},
		Network:   confine.Network{Hosts: []confine.Host{{Name: "registry.npmjs.org", Ports: []int{443}}}},
		Env:       confine.Env{Keep: []string{"PATH", "LANG"}},
	}
	fmt.Print(p)
	// Output:
	// Runs at level full or not at all.
	// May read /etc, /usr.
	// May run programs from /usr.
	// Works on /home/u/shop and changes it at once.
	// Does not see /home/u/shop/.env.
	// May connect to registry.npmjs.org at port 443.
	// Keeps of the environment LANG, PATH.
}
