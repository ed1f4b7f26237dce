package confine

import (
	"fmt"
	"strings"
)

// Seatbelt prints a Profile as text for `sandbox-exec -f FILE` of macOS. The text is tested as
// text; obstat does not run it. Seatbelt knows addresses and not names, so that hosts cannot be
// held apart: with some allowed, only the ports are. It has neither overlays nor limits.
func (p Profile) Seatbelt() string {
	p = p.sorted()
	var b strings.Builder
	b.WriteString("(version 1)\n(deny default)\n")
	b.WriteString("(allow process-fork)\n(allow signal (target same-sandbox))\n(allow process-info* (target same-sandbox))\n")
	b.WriteString("(allow sysctl-read)\n(allow file-read-metadata)\n")
	b.WriteString("(allow file-read* file-write-data (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\")" +
		" (literal \"/dev/random\") (literal \"/dev/urandom\"))\n")
	read, write, remove := p.Read, p.Write, p.Delete
	if p.Workspace.Mode != "" {
		root := []string{p.Workspace.Root}
		read, write, remove = append(read, root...), append(write, root...), append(remove, root...)
	}
	seatbeltRule(&b, "allow file-read*", "subpath", read)
	seatbeltRule(&b, "allow file-write-create file-write-data file-write-mode file-write-times file-write-xattr",
		"subpath", write)
	seatbeltRule(&b, "allow file-write-unlink", "subpath", remove)
	seatbeltRule(&b, "allow process-exec file-map-executable", "subpath", p.Execute)
	// The last rule that fits counts, so that the exceptions come after the trees.
	seatbeltRule(&b, "deny file-read* file-write* process-exec", "subpath", p.Hidden)
	seatbeltRule(&b, "deny file-write*", "subpath", p.ReadOnly)
	seatbeltRule(&b, "deny file-write-unlink", "literal", parentsOf(append(p.Hidden, p.ReadOnly...)))
	p.Network.seatbelt(&b)
	for _, path := range p.Sockets {
		fmt.Fprintf(&b, "(allow network-outbound (literal %s))\n", seatbeltQuote(path))
	}
	return b.String()
}

func seatbeltRule(b *strings.Builder, verb, filter string, paths []string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintf(b, "(%s", verb)
	for _, path := range paths {
		fmt.Fprintf(b, "\n  (%s %s)", filter, seatbeltQuote(path))
	}
	b.WriteString(")\n")
}

func seatbeltQuote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// parentsOf returns the directories above paths: renaming one of them would free the name.
func parentsOf(paths []string) []string {
	var out []string
	for _, path := range paths {
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path, '/') {
			path = path[:at]
			out = append(out, path)
		}
	}
	return sortedCopy(out)
}

func (n Network) seatbelt(b *strings.Builder) {
	var ports []int
	for _, h := range n.Hosts {
		ports = append(ports, h.Ports...)
	}
	if len(ports) > 0 {
		b.WriteString("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n")
	}
	for _, port := range sortedCopy(ports) {
		fmt.Fprintf(b, "(allow network-outbound (remote tcp \"*:%d\"))\n", port)
	}
	if n.AllLocalhost {
		b.WriteString("(allow network-outbound (remote tcp \"localhost:*\"))\n")
	}
	for _, port := range n.Localhost {
		fmt.Fprintf(b, "(allow network-outbound (remote tcp \"localhost:%d\"))\n", port)
	}
	b.WriteString("(allow network-bind network-inbound (local tcp \"localhost:*\"))\n")
}
