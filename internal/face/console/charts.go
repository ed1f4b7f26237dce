package console

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/obstat/obstat/internal/study/replay"
)

// A plot is drawn by the script.
type plot struct {
	At     []float64 `json:"at"`   // seconds
	From   int64     `json:"from"` // seconds; the axis shows the time that was asked for, however little happened in it
	To     int64     `json:"to"`
	Bars   bool      `json:"bars,omitempty"`
	Unit   string    `json:"unit,omitempty"`
	Series []series  `json:"series"`
}

// A series is one line of a plot, in one of the page's colours.
type series struct {
	Label  string     `json:"label"`
	Ink    string     `json:"ink"`
	Values []*float64 `json:"values"` // null where there is none
	// Tops are where its bars end: they stand on those of the series after it.
	Tops []*float64 `json:"tops,omitempty"`
}

type tile struct {
	N    int
	What string
}

// A countRow is a line of a list with a bar.
type countRow struct {
	Text     string
	N, Share int
}

// A countList has the most frequent of something.
type countList struct {
	Title string
	Rows  []countRow
}

// chartsPage shows counts over time.
type chartsPage struct {
	frame
	Day              int
	Days             []int
	Tiles            []tile
	Answers, Latency string // plots, as JSON
	Lists            []countList
}

// buckets is how many stretches of time a chart has.
const buckets = 48

func (c *console) charts(w http.ResponseWriter, r *http.Request) error {
	f, err := c.frame(r, "charts", "Charts")
	if err != nil {
		return err
	}
	p := &chartsPage{frame: f, Days: []int{1, 7, 30}}
	if p.Day, err = days(r.URL.Query(), 7); err != nil {
		return err
	}
	now := time.Now()
	since := now.AddDate(0, 0, -max(p.Day, 1))
	s, err := c.v.Stats(r.Context(), since, buckets)
	if err != nil {
		return err
	}
	p.Tiles = []tile{{s.Verdicts["allow"], "allowed"}, {s.Verdicts["ask"], "asked"}, {s.Verdicts["deny"], "denied"},
		{s.Answers["approved"], "approved by people"}, {s.Answers["refused"], "refused by people"}, {s.Answers["expired"],
			"not answered in time"}}
	p.Answers, p.Latency = verdictPlot(s).over(s, since, now), latencyPlot(s).over(s, since, now)
	p.Lists = []countList{{"Most asked", bars(s.Asked)}, {"Most denied", bars(s.Denied)},
		{"Rules that decided most", bars(s.Rules)}}
	return c.render(w, http.StatusOK, "charts", "frame", p)
}

func bars(list []replay.Count) (out []countRow) {
	for _, one := range list {
		out = append(out, countRow{one.Text, one.N, one.N * 100 / max(list[0].N, 1)})
	}
	return out
}

func verdictPlot(s *replay.Stats) *plot {
	p := &plot{Bars: true}
	for _, k := range []struct{ verdict, label, ink string }{{"allow", "allowed", "--allow"}, {"ask", "asked", "--ask"},
		{"deny", "denied", "--deny"}} {
		one := series{Label: k.label, Ink: k.ink}
		for i := range s.Buckets {
			n := float64(s.Buckets[i].Verdicts[k.verdict])
			one.Values = append(one.Values, &n)
		}
		p.Series = append(p.Series, one)
	}
	sums := make([]float64, len(s.Buckets))
	for k := len(p.Series) - 1; k >= 0; k-- {
		one := &p.Series[k]
		one.Tops = make([]*float64, len(sums))
		for i, n := range one.Values {
			sums[i] += *n
			if top := sums[i]; *n > 0 {
				one.Tops[i] = &top
			}
		}
	}
	return p
}

func latencyPlot(s *replay.Stats) *plot {
	median, high := series{Label: "median", Ink: "--accent"}, series{Label: "95th percentile", Ink: "--soft"}
	for i := range s.Buckets {
		median.Values = append(median.Values, millis(s.Buckets[i].P50))
		high.Values = append(high.Values, millis(s.Buckets[i].P95))
	}
	return &plot{Unit: "ms", Series: []series{median, high}}
}

// millis returns a time in milliseconds; nil where nothing was decided.
func millis(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	ms := float64(d) / float64(time.Millisecond)
	return &ms
}

// over sets the times of a plot and returns it as JSON.
func (p *plot) over(s *replay.Stats, from, to time.Time) string {
	p.At, p.From, p.To = []float64{}, from.Unix(), to.Unix()
	for i := range s.Buckets {
		p.At = append(p.At, float64(s.Buckets[i].From.UnixMilli())/1000)
	}
	out, _ := json.Marshal(p) // numbers and fixed texts can be written as JSON
	return string(out)
}
