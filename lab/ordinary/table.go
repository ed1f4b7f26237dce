package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed commands.txt
var commandsText string

// A project is a directory that a script makes, and the commands that are run in it.
type project struct {
	name, needs, setup string
	commands           []command
}

// A command runs in a directory of its project; check prints the same after it ran bare and confined.
type command struct {
	text, dir, needs, check string
}

// parse reads the table: `project NAME`, `needs PROGRAM...`, a script between `setup` and `end`, and `$ COMMAND` with
// `= CHECK`, `in DIRECTORY` and `needs PROGRAM` below it.
func parse(text string) (out []project, err error) {
	var p *project
	setup := false
	for n, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case setup && line == "end":
			setup = false
		case setup:
			p.setup += line + "\n"
		case line == "" || word == "#":
		case word == "project":
			out = append(out, project{name: rest})
			p = &out[len(out)-1]
		case p == nil:
			return nil, fmt.Errorf("commands.txt:%d: no project", n+1)
		case line == "setup":
			setup = true
		case word == "$":
			p.commands = append(p.commands, command{text: rest})
		case word == "needs" && len(p.commands) == 0:
			p.needs = rest
		default:
			if len(p.commands) == 0 {
				return nil, fmt.Errorf("commands.txt:%d: no command for %q", n+1, line)
			}
			c := &p.commands[len(p.commands)-1]
			switch word {
			case "=":
				c.check = rest
			case "in":
				c.dir = rest
			case "needs":
				c.needs = rest
			default:
				return nil, fmt.Errorf("commands.txt:%d: %q is no word of this table", n+1, word)
			}
		}
	}
	return out, nil
}

// least is the share of commands that work bare and have to work confined, in percent.
const least = 98

// report prints the figures and every command that differs, and tells whether enough work.
func report(w io.Writer, rows []row) bool {
	byProject := map[string][2]int{}
	var order []string
	all, good := 0, 0
	for i := range rows {
		r := &rows[i]
		n, ok := byProject[r.project]
		if !ok {
			order = append(order, r.project)
		}
		if r.counts() {
			all++
			n[0]++
			if r.works() {
				good++
				n[1]++
			}
		}
		byProject[r.project] = n
	}
	fmt.Fprintf(w, "| project | run confined and work bare | work confined |\n|---|---|---|\n")
	for _, name := range order {
		fmt.Fprintf(w, "| %s | %d | %d |\n", name, byProject[name][0], byProject[name][1])
	}
	fmt.Fprintf(w, "| all | %d | %d |\n\n", all, good)
	ways := map[string]int{}
	for i := range rows {
		ways[rows[i].way]++
	}
	fmt.Fprintf(w, "%d commands: %d run confined, %d are allowed as they are, %d ask, %d are denied, %d were not run\n\n",
		len(rows), ways["confined"], ways["allow"], ways["ask"], ways["deny"], ways[""])
	for i := range rows {
		r := &rows[i]
		switch {
		case r.missing != "":
			fmt.Fprintf(w, "not run, %s is not installed: %s: %s\n", r.missing, r.project, r.command)
		case r.way == "ask" || r.way == "deny" || r.way == "error":
			fmt.Fprintf(w, "%s: %s: %s\n", r.way, r.project, r.command)
		case !r.works():
			fmt.Fprintf(w, "differs: %s: %s: exit %d, confined %d\n", r.project, r.command, r.bare.exit, r.confined.exit)
		case r.bare.exit != 0:
			fmt.Fprintf(w, "fails bare as well, with %d: %s: %s\n", r.bare.exit, r.project, r.command)
		}
	}
	return all > 0 && good*100 >= all*least
}
