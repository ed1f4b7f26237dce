package explain

import (
	"slices"
	"strings"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/effect"
	"github.com/obstat/obstat/shell"
)

// Forever says in words which effects of a call can never be taken back: `git push`, a request, a database, another
// machine. It looks at the call alone; whether files can be put back is known where they are kept.
func Forever(a *effect.Analysis) (out []string) {
	var hosts []string
	for i := range a.Effects {
		e := &a.Effects[i]
		if e.Kind == effect.Connect && !e.Harmless && !e.Tags.Has(effect.Destroy) {
			if !slices.Contains(hosts, e.Host) {
				hosts = append(hosts, e.Host)
			}
		} else if text := forever(e); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	host := "a host"
	if named := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == "" }); len(named) > 0 {
		host = strings.Join(named[:min(len(named), 3)], ", ")
	}
	if len(hosts) > 0 {
		out = append([]string{"what is sent to " + host + " cannot be taken back"}, out...)
	}
	return out
}

func forever(e *effect.Effect) string {
	switch {
	case e.Harmless || e.Kind == effect.Read || e.Kind == effect.Run:
		return ""
	case e.Tags.Has(effect.Destroy):
		return "what it destroys on another machine cannot be taken back"
	case e.Kind == effect.System:
		return "this is more than files, and cannot be taken back: " + e.Detail
	case e.Where != "" || e.Host != "":
		return "files on another machine cannot be put back"
	}
	return ""
}

// Unseen returns the command of a call that cannot be looked into, "" of another call: a person can run it to see.
func Unseen(c *obstat.Call, a *effect.Analysis) string {
	for i := range a.Commands {
		if a.Unknown(i) && c.Dir != "" {
			return a.Source
		}
	}
	return ""
}

// ToTry returns the line by which a person can run a call to see what it changes, before it counts; "" where nothing
// about it is unknown, or it does not fit on a line.
func ToTry(c *obstat.Call, a *effect.Analysis) string {
	text := Unseen(c, a)
	if text == "" || len(text) > 200 || strings.ContainsRune(text, '\n') {
		return ""
	}
	return "cd " + shell.Quote(c.Dir) + " && obstat try -- " + shell.Quote(text)
}
