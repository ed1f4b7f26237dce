package main

import (
	"regexp"
	"strings"
)

var (
	assigned = regexp.MustCompile(`^(?:export\s+|override\s+)?([A-Za-z_][\w.-]*)\s*(\?|:{0,3}|\+)=\s*(.*)$`)
	target   = regexp.MustCompile(`^([^\s:=#][^:=#]*):([^=].*)?$`)
)

// inMakefile finds the commands of rules. What make knows it puts in: variables, targets, what they are made of; a
// command with something that make's own functions compute is left out, but for `$(shell date)`.
func inMakefile(text string) (out []found) {
	m := &makefile{vars: map[string]string{}}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at, l := i, lines[i]
		for strings.HasSuffix(l, `\`) && i+1 < len(lines) {
			i++
			if strings.HasPrefix(l, "\t") {
				l += "\n" + strings.TrimPrefix(lines[i], "\t")
			} else {
				l = strings.TrimSuffix(l, `\`) + " " + strings.TrimSpace(lines[i])
			}
		}
		recipe, ok := strings.CutPrefix(l, "\t")
		switch parts := assigned.FindStringSubmatch(l); {
		case ok && m.target != "":
			m.recipes = append(m.recipes, recipeOf{at + 1, strings.TrimLeft(recipe, "@-+ \t"), m.target, m.from})
		case parts != nil && (parts[2] != "?" || m.vars[parts[1]] == "") && parts[2] != "+":
			m.vars[parts[1]] = parts[3]
		case parts != nil && parts[2] == "+":
			m.vars[parts[1]] += " " + parts[3]
		default:
			if parts := target.FindStringSubmatch(l); parts != nil {
				m.target, m.from = strings.TrimSpace(parts[1]), strings.TrimSpace(strings.TrimLeft(parts[2], ":"))
			}
		}
	}
	for _, r := range m.recipes {
		if command, ok := m.expand(r.command, &r, 0); ok {
			out = append(out, found{r.at, command})
		}
	}
	return out
}

// A makefile is what has been read of one.
type makefile struct {
	vars         map[string]string
	target, from string
	recipes      []recipeOf
}

type recipeOf struct {
	at                    int
	command, target, from string
}

// expand puts in what make knows.
func (m *makefile) expand(s string, r *recipeOf, deep int) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		name := s[i : i+1]
		if end := closing(s, i); end > 0 {
			name, i = s[i+1:end], end
		}
		value, ok := m.value(name, r, deep)
		if !ok {
			return "", false
		}
		out.WriteString(value)
	}
	return out.String(), true
}

// closing returns where the bracket that opens at i is closed, 0 if there is none.
func closing(s string, i int) int {
	closes := map[byte]byte{'(': ')', '{': '}'}[s[i]]
	for j, open := i, 0; closes != 0 && j < len(s); j++ {
		if s[j] == s[i] {
			open++
		} else if s[j] == closes {
			if open--; open == 0 {
				return j
			}
		}
	}
	return 0
}

func (m *makefile) value(name string, r *recipeOf, deep int) (string, bool) {
	first, _, _ := strings.Cut(r.from, " ")
	special := map[string]string{"$": "$", "@": r.target, "<": first, "^": r.from, "MAKE": "make",
		"CURDIR": "/srv/project"}
	if value, ok := special[name]; ok {
		return value, name == "$" || !strings.ContainsAny(value, "%$()")
	}
	if command, ok := strings.CutPrefix(name, "shell "); ok {
		value, ok := m.expand(command, r, deep+1)
		return "$(" + value + ")", ok
	}
	if strings.ContainsAny(name, " ,:*%?") || deep > 8 {
		return "", false
	}
	return m.expand(m.vars[name], r, deep+1)
}
