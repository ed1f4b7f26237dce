package ledger

import (
	"slices"
	"strings"
)

// A span is a part of a text that is a secret.
type span struct {
	from, to int
	why      string
}

// scan returns the secrets in a text, in order, none over another.
func (r *secretRules) scan(s string) []span {
	var out []span
	out = r.scanTokens(s, out)
	out = scanPEM(s, out)
	out = scanURLs(s, out)
	out = scanBearer(s, out)
	out = r.scanAssignments(s, out)
	out = r.scanFlags(s, out)
	out = scanCommands(s, out)
	out = scanNetrc(s, out)
	out = slices.DeleteFunc(out, func(p span) bool {
		return p.from >= p.to || strings.HasPrefix(s[p.from:], Mask) && p.to <= p.from+len(Mask)
	})
	slices.SortStableFunc(out, func(a, b span) int { return a.from - b.from })
	return merge(out)
}

// merge joins spans that overlap.
func merge(spans []span) []span {
	var out []span
	for _, p := range spans {
		if n := len(out); n > 0 && p.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, p.to)
			continue
		}
		out = append(out, p)
	}
	return out
}

// scanTokens finds tokens that are known by their prefix, such as `ghp_...`.
func (r *secretRules) scanTokens(s string, out []span) []span {
	var ends [maxTokens]int // where the last of each kind ended
	for from := 0; from < len(s); from++ {
		for _, i := range r.first[s[from]] {
			t := &r.tokens[i]
			if from < ends[i] || !strings.HasPrefix(s[from:], t.prefix) {
				continue
			}
			to := from + len(t.prefix)
			for to < len(s) && t.in(s[to]) {
				to++
			}
			if to-from-len(t.prefix) >= t.least && t.stands(s, from, to) {
				out = append(out, span{from, to, t.why})
			}
			ends[i] = to
		}
	}
	return out
}

// stands tells whether a token with a short prefix is one: words have such
// letters in their middle, and hyphens.
func (t *prefixed) stands(s string, from, to int) bool {
	if len(t.prefix) > 3 {
		return true
	}
	inWord := from > 0 && alnum(s[from-1]) && (from < 2 || s[from-2] != '\\')
	return !inWord && strings.ContainsAny(s[from:to], "0123456789")
}

// scanNetrc finds the passwords of a .netrc: `machine NAME login NAME password SECRET`, on a line or several.
func scanNetrc(s string, out []span) []span {
	const machine = "machine"
	for at := 0; ; {
		j := strings.Index(s[at:], machine)
		if j < 0 {
			return out
		}
		begin := at + j
		at = begin + len(machine)
		if begin > 0 && alnum(s[begin-1]) {
			continue
		}
		next := at
		word := func() (from, to int) {
			from = next + len(s[next:]) - len(strings.TrimLeft(s[next:], " \t\r\n"))
			next = from + until(s[from:], " \t\r\n")
			return from, next
		}
		word()
		for {
			from, to := word()
			name := s[from:to]
			if name != "login" && name != "account" && name != "password" {
				break
			}
			if from, to = word(); name == "password" && !harmless(s[from:to]) {
				out = append(out, span{from, to, "password of a machine"})
			}
			at = to
		}
	}
}

// scanPEM finds private keys, to the end of the text where their end is missing.
func scanPEM(s string, out []span) []span {
	for at := 0; ; {
		j := strings.Index(s[at:], "-----BEGIN ")
		if j < 0 {
			return out
		}
		from := at + j
		at = from + len("-----BEGIN ")
		label := s[at:min(len(s), at+64)]
		if n := strings.Index(label, "-----"); n < 0 || !strings.Contains(label[:n], "PRIVATE KEY") {
			continue
		}
		to := len(s)
		if n := strings.Index(s[at:], "-----END "); n >= 0 {
			to = at + n + len("-----END ")
			if m := strings.Index(s[to:], "-----"); m >= 0 && m < 64 {
				to += m + len("-----")
			}
		}
		out = append(out, span{from, to, "private key"})
		at = to
	}
}

// scanURLs finds passwords in addresses. A slash in one is against the grammar,
// and people write it all the same.
func scanURLs(s string, out []span) []span {
	for at := 0; ; {
		j := strings.Index(s[at:], "://")
		if j < 0 {
			return out
		}
		from := at + j + 3
		end := from + until(s[from:], " \t\r\n\"'`<>\\")
		at = from
		host := s[from:end]
		i := strings.LastIndexByte(host, '@')
		if i < 0 {
			continue
		}
		if slash := strings.IndexAny(host, "/?#"); slash >= 0 && slash < i && !passwordHasSlash(host[:slash]) {
			if i = strings.LastIndexByte(host[:slash], '@'); i < 0 {
				continue
			}
		}
		user, _, found := strings.Cut(host[:i], ":")
		switch {
		case found:
			out = append(out, span{from + len(user) + 1, from + i, "password in an address"})
		case len(user) >= 20 || random(user):
			out = append(out, span{from, from + i, "token in an address"})
		}
	}
}

// passwordHasSlash tells of an authority cut at its first slash whether it must
// have been cut in a password: the text behind the colon is no port, and no at
// sign came yet.
func passwordHasSlash(authority string) bool {
	_, port, found := strings.Cut(authority, ":")
	return found && !strings.Contains(authority, "@") && strings.Trim(port, "0123456789") != ""
}

// until returns how much of s is before the first of the given characters.
func until(s, stop string) int {
	if i := strings.IndexAny(s, stop); i >= 0 {
		return i
	}
	return len(s)
}

// scanBearer finds bearer tokens wherever they are mentioned.
func scanBearer(s string, out []span) []span {
	for at := 0; ; {
		j := indexFold(s[at:], "bearer")
		if j < 0 {
			return out
		}
		at += j + len("bearer")
		from := at + len(s[at:]) - len(strings.TrimLeft(s[at:], " \t"))
		to := from + until(s[from:], " \t\r\n\"'`\\<>;,")
		if v := s[from:to]; from > at && len(v) >= 8 && (len(v) >= 20 || strings.ContainsAny(v, "0123456789")) {
			out = append(out, span{from, to, "bearer token"})
		}
	}
}

// indexFold is strings.Index for an ASCII word in lower case, in any case.
func indexFold(s, word string) int {
	for i := 0; i+len(word) <= len(s); i++ {
		n := strings.IndexAny(s[i:], word[:1]+strings.ToUpper(word[:1]))
		if n < 0 || i+n+len(word) > len(s) {
			return -1
		}
		i += n
		if strings.EqualFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}

// A flagRule is a program that takes a secret with a short flag. Where glued,
// the value follows without a blank; where user, it is behind a colon.
type flagRule struct {
	program, flag string
	glued, user   bool
}

var flagRules = []flagRule{
	{"curl", "-u", false, true}, {"curl", "--user", false, true}, {"curl", "-U", false, true}, {"curl", "--proxy-user", false, true},
	{"http", "-a", false, true}, {"http", "--auth", false, true},
	{"sshpass", "-p", false, false}, {"login", "-p", false, false}, {"redis-cli", "-a", false, false}, {"sqlcmd", "-P", false, false},
	{"mysql", "-p", true, false}, {"mariadb", "-p", true, false}, {"ldap", "-w", false, false}, {"smbclient", "-U", false, true},
}

// scanCommands finds secrets behind short flags of programs that have them.
func scanCommands(s string, out []span) []span {
	for _, r := range flagRules {
		if !strings.Contains(s, r.program) {
			continue
		}
		for at := strings.Index(s, r.program) + len(r.program); at < len(s); {
			j := strings.Index(s[at:], r.flag)
			if j < 0 {
				break
			}
			from := at + j + len(r.flag)
			at = from
			if !blank(s[from-len(r.flag)-1]) || from >= len(s) {
				continue
			}
			if !r.glued || !blank(s[from]) {
				out = r.value(s, from, out)
			}
		}
	}
	return out
}

func blank(c byte) bool { return strings.IndexByte(" \t\"',[", c) >= 0 }

// value adds the value behind a short flag.
func (r *flagRule) value(s string, from int, out []span) []span {
	if i := strings.IndexByte(s[from:], ','); i >= 0 && strings.Trim(s[from:from+i], `\"'`) == "" {
		from += i + 1 // the elements of a list
	}
	from += len(s[from:]) - len(strings.TrimLeft(s[from:], " \t"))
	if from >= len(s) || substitution(s[from:], true) {
		return out
	}
	to := shellWord(s, from)
	if quoteAt(s, from) {
		from, to = quoted(s, from)
	}
	if r.user {
		user, _, found := strings.Cut(s[from:to], ":")
		if !found {
			return out
		}
		from += len(user) + 1
	}
	return append(out, span{from, to, r.program + " " + r.flag})
}
