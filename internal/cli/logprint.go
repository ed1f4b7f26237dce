package cli

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/host/chorus"
	"github.com/obstat/obstat/ledger"
)

// A recordPrinter prints records in one form.
type recordPrinter interface {
	print(r *ledger.Record) error
	flush() error
}

type jsonPrinter struct{ w io.Writer }

// print prints the record; its v is its own.
func (p jsonPrinter) print(r *ledger.Record) error { return writeJSON(p.w, r) }

func (jsonPrinter) flush() error { return nil }

// A linePrinter prints records as they were sealed.
type linePrinter struct{ w *bufio.Writer }

func (p linePrinter) print(r *ledger.Record) error {
	line, err := r.Encode()
	if err == nil {
		_, err = p.w.Write(line)
	}
	return err
}

func (p linePrinter) flush() error { return p.w.Flush() }

type csvPrinter struct {
	w    *csv.Writer
	head bool
}

func newCSVPrinter(w io.Writer) *csvPrinter { return &csvPrinter{w: csv.NewWriter(w)} }

func (p *csvPrinter) print(r *ledger.Record) error {
	if !p.head {
		p.head = true
		if err := p.w.Write(strings.Split("seq,time,kind,agent,session,user,tool,input,verdict,rule,file,line,reason,request,policy,nanos,hash", ",")); err != nil {
			return err
		}
	}
	row := []string{strconv.FormatUint(r.Seq, 10), r.Time.Format(time.RFC3339Nano), string(r.Kind), r.Agent, r.Session, r.User, r.Tool, string(r.Input), r.Verdict, r.Rule,
		r.Pos.File, number(r.Pos.Line), r.Reason, r.Request, r.Policy, number(int(r.Nanos)), r.Hash.String()}
	for i := range row {
		row[i] = cell(row[i])
	}
	return p.w.Write(row)
}

func (p *csvPrinter) flush() error { p.w.Flush(); return p.w.Error() }

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// cell keeps a spreadsheet from taking an agent's text for a formula.
func cell(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// A chorusPrinter prints decisions as Chorus's audit table.
type chorusPrinter struct {
	w    *csv.Writer
	head bool
}

func (p *chorusPrinter) print(r *ledger.Record) error {
	if !p.head {
		p.head = true
		if err := p.w.Write([]string{"agent_name", "timestamp", "action_string", "decision", "user_id", "detail"}); err != nil {
			return err
		}
	}
	one := func(yield func(*ledger.Record, error) bool) { yield(r, nil) }
	for row := range chorus.Rows(one) {
		if err := p.w.Write([]string{cell(row.AgentName), row.Stamp(), cell(row.ActionString), row.Decision, cell(row.UserID), cell(row.Detail)}); err != nil {
			return err
		}
	}
	return nil
}

func (p *chorusPrinter) flush() error { p.w.Flush(); return p.w.Error() }

// A textPrinter prints a record a line, for people.
type textPrinter struct {
	io *IO
	w  io.Writer
}

func (p *textPrinter) print(r *ledger.Record) error {
	word := r.Verdict
	if word == "" {
		word = string(r.Kind)
	}
	about := r.Reason
	if r.Kind == ledger.Decision || r.Kind == ledger.Ask {
		about = strings.TrimSpace(r.Tool + " " + r.About())
	}
	var tail []string
	if r.Rule != "" {
		tail = append(tail, "by "+r.Rule+at(r.Pos))
	} else if r.Stage != "" {
		tail = append(tail, "by "+r.Stage)
	}
	for _, who := range []string{r.Agent, r.Session} {
		if who != "" {
			tail = append(tail, who)
		}
	}
	head := fmt.Sprintf("%5d  %s  ", r.Seq, r.Time.Local().Format("2006-01-02 15:04:05"))
	rest := visible(strings.Join(append([]string{about}, tail...), " · "))
	if p.io.OutTTY {
		rest = clip(rest, max(p.io.width()-columns(head)-10, 20))
	}
	_, err := fmt.Fprintf(p.w, "%s%s  %s\n", head, p.io.paint(wordInk(word), pad(visible(word), 8)), rest)
	return err
}

func (*textPrinter) flush() error { return nil }

func at(p obstat.Pos) string {
	if p.File == "" {
		return ""
	}
	return " " + p.String()
}

// wordInk is the colour of a verdict or kind.
func wordInk(word string) ink {
	switch word {
	case "allow", "approved", "granted":
		return green
	case "ask":
		return yellow
	case "deny", "refused", "expired", "canceled", "revoked":
		return red
	}
	return dim
}
