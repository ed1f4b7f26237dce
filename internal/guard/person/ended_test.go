package person

import (
	"regexp"
	"testing"
)

func TestWhose(t *testing.T) {
	m := read(t, `
		1 0 1 0 0 1 init /sbin/init
		10 1 10 1 1000 2 bash /bin/bash
		20 10 10 1 1000 3 claude /opt/claude -- claude
		30 20 30 0 1000 4 bash /bin/bash -- bash -c x
		31 30 30 0 1000 5 uvicorn /usr/bin/python3 -- python3 -m uvicorn app
		40 20 40 0 1000 6 obstat /usr/bin/obstat -- obstat hook claude-code
		41 20 41 0 1000 6 obstat /usr/bin/obstat -- obstat mcp -- server uvicorn
		42 20 42 0 1000 6 obstat /usr/bin/obstat -- obstat run --ticket x -c make
		50 1 50 0 1000 7 obstat /usr/bin/obstat -- obstat-confine
		51 50 50 0 1000 8 node /usr/bin/node -- node server.js
		60 10 60 1 1000 9 node /usr/bin/node -- node mine.js`)
	m.reads = true
	chain, _ := m.chain(40)
	for _, tt := range []struct {
		name string
		s    Signalled
		also []int
		want string
	}{
		{"a child's child", Signalled{PIDs: []int{31}}, nil, EndsOwn},
		{"by its command line", Signalled{Lines: []*regexp.Regexp{regexp.MustCompile("python3 -m uvicorn")}}, nil, EndsOwn},
		{"and by that of a gateway", Signalled{Lines: []*regexp.Regexp{regexp.MustCompile("uvicorn")}}, nil, EndsOthers},
		{"by its name", Signalled{Names: []string{"uvicorn"}}, nil, EndsOwn},
		{"a confined run", Signalled{PIDs: []int{42}}, nil, EndsOwn},
		{"one in the background", Signalled{PIDs: []int{51}}, []int{50}, EndsOwn},
		{"one of another session", Signalled{PIDs: []int{51}}, nil, EndsOthers},
		{"the user's own and one in the background", Signalled{Names: []string{"node"}}, []int{50}, EndsOthers},
		{"the agent itself", Signalled{PIDs: []int{20}}, nil, EndsOthers},
		{"the shell above it", Signalled{PIDs: []int{10}}, nil, EndsOthers},
		{"the hook", Signalled{PIDs: []int{40}}, nil, EndsOthers},
		{"nothing", Signalled{PIDs: []int{99}}, nil, EndsNone},
	} {
		if got := m.whose(&tt.s, chain, tt.also); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	person, _ := m.chain(10)
	if got := m.whose(&Signalled{PIDs: []int{31}}, person, nil); got != "" {
		t.Errorf("without an agent: %q", got)
	}
	m.reads = false
	if got := m.whose(&Signalled{PIDs: []int{99}}, chain, nil); got != "" {
		t.Errorf("where processes cannot be read: %q", got)
	}
}
