package shell

import (
	"slices"
	"strings"
)

// foreignCommand recognises a command that no POSIX system has.
func foreignCommand(words []Word) Lang {
	name := words[0].Text
	switch {
	case isCmdlet(name):
		return PowerShell
	case strings.HasPrefix(words[0].Raw, "$env:") || strings.HasPrefix(words[0].Raw, "$PSVersionTable"):
		return PowerShell
	}
	if slices.ContainsFunc(words[1:], func(x Word) bool { return cmdSwitch(x.Raw) }) &&
		slices.Contains(known().cmd, strings.ToLower(name)) {
		return Cmd
	}
	if strings.EqualFold(name, "@echo") && len(words) == 2 && strings.EqualFold(words[1].Text, "off") {
		return Cmd
	}
	return Bash
}

// isCmdlet reports whether name is Verb-Noun with a verb that PowerShell approves.
func isCmdlet(name string) bool {
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	verb, noun, ok := strings.Cut(name, "-")
	if !ok || len(noun) < 2 || noun[0] < 'A' || noun[0] > 'Z' {
		return false
	}
	return slices.Contains(known().cmdlet, verb) && strings.IndexByte(noun, '/') < 0
}

// cmdSwitch reports whether an argument is /s, /q and the like, or holds %NAME%.
func cmdSwitch(raw string) bool {
	if len(raw) == 2 && raw[0] == '/' && (raw[1]|0x20) >= 'a' && (raw[1]|0x20) <= 'z' {
		return true
	}
	i := strings.IndexByte(raw, '%')
	if i < 0 {
		return false
	}
	j := strings.IndexByte(raw[i+1:], '%')
	return j > 0 && validName(raw[i+1:i+1+j])
}

// foreignText recognises text that does not parse as bash.
func foreignText(src string) Lang {
	first := strings.TrimSpace(src)
	word, _, _ := strings.Cut(first, " ")
	switch {
	case isCmdlet(word), strings.HasPrefix(first, "$env:"), strings.HasPrefix(first, "#requires"),
		strings.HasPrefix(first, "[") && strings.Contains(first, "]::"),
		strings.HasPrefix(first, "param("), strings.Contains(first, "| Where-Object"), strings.Contains(first, "| ForEach-Object"):
		return PowerShell
	case strings.HasPrefix(strings.ToLower(first), "@echo off"):
		return Cmd
	}
	return Bash
}

// validName reports whether s can name a variable.
func validName(s string) bool {
	for i := range len(s) {
		letter := s[i] == '_' || 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		if !letter && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

// digits reports whether s is a number.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
