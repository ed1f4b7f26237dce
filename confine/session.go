package confine

import "time"

// A Kept is a run that left processes behind, in its confinement, in the background.
type Kept struct {
	PID   int       `json:"pid"` // of the process that supervises it
	Args  []string  `json:"args"`
	Since time.Time `json:"since"`
	Write []string  `json:"write,omitempty"` // trees that it writes
	Ports []int     `json:"ports,omitempty"` // published on the machine's loopback
}
