package opencode

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/obstat/obstat/effect"
)

// file is the ask of a tool that works on one file.
func (c *callView) file() error {
	var patterns []string
	for _, field := range pathFields(c.f.Call.Tool) {
		p, there, err := c.optional(field)
		if err != nil {
			return err
		}
		if there {
			patterns = appendNew(patterns, c.place(p, false)...)
		}
	}
	if len(patterns) == 0 {
		return fmt.Errorf("a call of %s has a filePath, and this one has none", c.f.Call.Tool)
	}
	c.ask(patterns, []string{"*"})
	return nil
}

// pathFields returns the fields that may hold the path of a file tool. The
// program's is filePath; a call that came another way may name it otherwise.
func pathFields(name string) []string {
	t, _ := effect.Lookup(name)
	return appendNew([]string{"filePath"}, t.Paths...)
}

// patch is the ask of a tool that applies a patch: every file that it names,
// and every file that it moves one to.
func (c *callView) patch() error {
	body, err := c.text("patchText")
	if err != nil {
		return err
	}
	var patterns distinct
	for line := range strings.SplitSeq(body, "\n") {
		for _, head := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), head); ok {
				patterns.add(c.place(strings.TrimSpace(p), false)...)
			}
		}
	}
	if len(patterns.texts) == 0 {
		return fmt.Errorf("the patch names no file")
	}
	c.ask(patterns.texts, []string{"*"})
	return nil
}

// glob asks about the pattern, and about the directory that it looks in.
func (c *callView) glob() error {
	s, err := c.text("pattern")
	if err != nil {
		return err
	}
	c.ask([]string{s}, []string{"*"})
	if err := c.searched(true); err != nil {
		return err
	}
	if strings.HasPrefix(s, "/") || strings.Contains(s, "..") {
		c.globDir(s)
	}
	return nil
}

// globDir asks about the directory in the pattern itself: `/etc/*.conf` searches /etc, though `path` is not given.
func (c *callView) globDir(pattern string) {
	if !c.Floor {
		return
	}
	base, _, _ := c.optional("path")
	c.outside(joinPath(c.absolute(base), cutGlob(pattern)), true)
}

func (c *callView) grep() error {
	s, err := c.text("pattern")
	if err != nil {
		return err
	}
	c.ask([]string{s}, []string{"*"})
	if err := c.searched(false); err != nil {
		return err
	}
	return c.grepReads()
}

// grepReads asks whether the very file that is searched may be read: the rules
// of grep look at the text that is searched for, and would give any file away.
func (c *callView) grepReads() error {
	p, there, err := c.optional("path")
	if err != nil || !there || !c.Floor {
		return err
	}
	if abs := c.absolute(p); !c.isDir(abs) {
		c.main = append(c.main, Ask{Permission: "read", Patterns: []string{c.relative(abs)}, Always: []string{"*"}})
	}
	return nil
}

// searched asks about the directory of a search.
func (c *callView) searched(dir bool) error {
	p, there, err := c.optional("path")
	if err != nil || !there {
		return err
	}
	abs := c.absolute(p)
	c.outside(abs, dir)
	return nil
}

// list asks about a directory.
func (c *callView) list() error {
	p, _, err := c.optional("path")
	if err != nil {
		return err
	}
	c.ask(c.place(p, true), []string{"*"})
	return nil
}

// resources asks about resources of an MCP server.
func (c *callView) resources() error {
	server, named, err := c.optional("server")
	if err != nil {
		return err
	}
	all := "mcp:" + server + ":*"
	if !named {
		all = "mcp:*"
	}
	uri, there, err := c.optional("uri")
	if err != nil {
		return err
	}
	if !there && c.f.Call.Tool == "read_mcp_resource" {
		return fmt.Errorf("a resource is read without saying which")
	}
	if !there {
		c.ask([]string{all}, []string{all})
		return nil
	}
	c.ask([]string{"mcp:" + server + ":" + uri}, []string{all})
	return nil
}

// fetch asks about an address, and, the floor on, about the same address as
// everybody else would write it.
func (c *callView) fetch() error {
	s, err := c.text("url")
	if err != nil {
		return err
	}
	patterns := []string{s}
	if plain, ok := plainURL(s); ok && c.Floor {
		patterns = appendNew(patterns, plain)
	}
	c.ask(patterns, []string{"*"})
	return nil
}

// plainURL writes an address in small letters where these do not matter, without
// a user's name and without the port that everybody takes.
func plainURL(s string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(s))
	if err != nil || u.Host == "" {
		return "", false
	}
	u.User, u.Scheme = nil, strings.ToLower(u.Scheme)
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" && !(u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80") {
		host += ":" + port
	}
	u.Host = host
	return u.String(), true
}
