// Package report writes findings and results in the forms that other programs read: SARIF, which
// code hosts show beside a change, GitHub's workflow commands, and JUnit's XML.
//
// It owns these three forms. Findings come to it with their places; it looks for none, and the exit
// code is the command's.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/obstat/obstat"
)

// A Finding is one thing to tell about a place in a file.
type Finding struct {
	Rule string // kind of finding, as in `no-effect`
	Warn bool   // a warning, not an error
	Pos  obstat.Pos
	Also []obstat.Pos
	Msg  string
	Hint string
}

// Of returns the findings of problems, which keep their codes.
func Of(es obstat.Errors) (out []Finding) {
	for _, e := range es {
		out = append(out, Finding{string(e.Code), e.Warning, e.Pos, e.Also, e.Msg, e.Hint})
	}
	return out
}

// Forms are the values of --format besides text.
func Forms() []string { return []string{"sarif", "github"} }

// Write writes findings in one of [Forms]. A finding without a file is put to the first of files.
func Write(w io.Writer, form, version string, files []string, all []Finding) error {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Pos.File == "" && len(files) > 0 {
			all[i].Pos.File = files[0]
		}
	}
	if form == "github" {
		return gitHub(w, all)
	}
	return sarif(w, version, all)
}

// gitHub writes each finding as a workflow command: `::error file=obstat.yaml,line=3::text`.
func gitHub(w io.Writer, all []Finding) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, f := range all {
		kind := "error"
		if f.Warn {
			kind = "warning"
		}
		place := ""
		if f.Pos.File != "" {
			place = "file=" + property.Replace(filepath.ToSlash(f.Pos.File)) + fmt.Sprintf(",line=%d", max(1, f.Pos.Line))
			if f.Pos.Col > 0 {
				place += fmt.Sprintf(",col=%d", f.Pos.Col)
			}
			place += ","
		}
		if _, err := fmt.Fprintf(w, "::%s %stitle=%s::%s\n", kind, place, property.Replace("obstat "+f.Rule),
			data.Replace(f.text())); err != nil {
			return err
		}
	}
	return nil
}

// text is the message, and the hint on a line of its own.
func (f *Finding) text() string {
	if f.Hint == "" {
		return f.Msg
	}
	return f.Msg + "\n" + f.Hint
}

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID           string          `json:"ruleId"`
		RuleIndex        int             `json:"ruleIndex"`
		Level            string          `json:"level"`
		Message          sarifText       `json:"message"`
		Locations        []sarifLocation `json:"locations,omitempty"`
		RelatedLocations []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)

// sarif writes the findings as one run of SARIF 2.1.0.
func sarif(w io.Writer, version string, all []Finding) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{"obstat", version, "https://github.com/obstat/obstat", []sarifRule{}}
	rules := &run.Tool.Driver.Rules
	for _, f := range all {
		at := slices.Index(*rules, sarifRule{f.Rule})
		if at < 0 {
			at = len(*rules)
			*rules = append(*rules, sarifRule{f.Rule})
		}
		r := sarifResult{RuleID: f.Rule, RuleIndex: at, Level: "error", Message: sarifText{f.text()}}
		if f.Warn {
			r.Level = "warning"
		}
		if f.Pos.File != "" {
			r.Locations = []sarifLocation{location(f.Pos)}
		}
		for _, p := range f.Also {
			if p.File != "" {
				r.RelatedLocations = append(r.RelatedLocations, location(p))
			}
		}
		run.Results = append(run.Results, r)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// location names a file as a relative URI, `a%20b/obstat.yaml`, or as one with the scheme file.
func location(p obstat.Pos) sarifLocation {
	name := filepath.ToSlash(p.File)
	u := url.URL{Path: path.Clean(name)}
	if filepath.IsAbs(p.File) {
		u.Scheme, u.Path = "file", "/"+strings.TrimPrefix(name, "/")
	}
	out := sarifLocation{sarifPhysical{Artifact: sarifArtifact{u.String()}}}
	if p.Line > 0 {
		out.Physical.Region = &sarifRegion{p.Line, p.Col}
	}
	return out
}
