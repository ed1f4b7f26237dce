package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat"
	"github.com/obstat/obstat/internal/face/report"
)

var schemas = flag.String("schemas", "", "`directory` with sarif-schema-2.1.0.json of OASIS and junit-10.xsd of Jenkins")

// hard are findings whose texts the forms have to escape.
var hard = []report.Finding{
	{Rule: "looser", Pos: obstat.Pos{File: "a b/ö,:%.yaml", Line: 3, Col: 7}, Msg: "100 % of\r\nlines", Hint: "a: b, c"},
	{Rule: "risky", Warn: true, Pos: obstat.Pos{File: "x.json"}, Also: []obstat.Pos{{File: "y.json", Line: 2}, {}},
		Msg: "<&> \x1b"},
	{Rule: "looser", Msg: "without a place"},
}

func suites() []*report.Suite {
	s := &report.Suite{Name: `a "file" <&>`}
	s.Add(report.Case{Name: "one", Class: "native"})
	s.Add(report.Case{Name: "two\x00", Class: "native", Failure: &report.Fault{Message: "wanted <allow>\n", Text: "]]>"}})
	s.Add(report.Case{Name: "three", Error: &report.Fault{Message: "no case"}})
	return []*report.Suite{s, {Name: "empty"}}
}

func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	if err := report.Write(&b, "github", "v1", []string{"first.yaml"}, hard); err != nil {
		t.Fatal(err)
	}
	want := "::error file=a b/ö%2C%3A%25.yaml,line=3,col=7,title=obstat looser::100 %25 of%0D%0Alines%0Aa: b, c\n" +
		"::warning file=x.json,line=1,title=obstat risky::<&> \x1b\n" +
		"::error file=first.yaml,line=1,title=obstat looser::without a place\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := report.Write(&b, "sarif", "v1", nil, hard); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn int }
					}
				}
				RelatedLocations []any
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%v: %s", err, b.Bytes())
	}
	run := log.Runs[0]
	if len(run.Results) != 3 || len(run.Tool.Driver.Rules) != 2 {
		t.Fatalf("%d results of %d rules", len(run.Results), len(run.Tool.Driver.Rules))
	}
	for i, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || (r.Level == "warning") != hard[i].Warn {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	at := run.Results[0].Locations[0].PhysicalLocation
	if at.ArtifactLocation.URI != "a%20b/%C3%B6,:%25.yaml" || at.Region.StartLine != 3 || at.Region.StartColumn != 7 {
		t.Errorf("the place is %+v", at)
	}
	if len(run.Results[1].RelatedLocations) != 1 || len(run.Results[2].Locations) != 0 {
		t.Errorf("places: %+v", run.Results)
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := report.JUnit(&b, suites()); err != nil {
		t.Fatal(err)
	}
	var all struct {
		Tests, Failures, Errors int            `xml:",attr"`
		Suites                  []report.Suite `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `<testsuites tests="3" failures="1" errors="1">`) {
		t.Errorf("the counts:\n%s", &b)
	}
	if len(all.Suites) != 2 || all.Suites[0].Cases[1].Failure.Text != "]]>" || all.Suites[0].Name != `a "file" <&>` {
		t.Errorf("%+v", all.Suites)
	}
}

// TestSchemas holds both forms to the schemas of their makers, which are not ours to pass on.
func TestSchemas(t *testing.T) {
	if *schemas == "" {
		t.Skip("no -schemas: the schemas of OASIS and Jenkins are not kept here")
	}
	dir := t.TempDir()
	var sarif, none, junit bytes.Buffer
	for _, err := range []error{report.Write(&sarif, "sarif", "v1", nil, hard), report.Write(&none, "sarif", "v1", nil, nil),
		report.JUnit(&junit, suites())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range map[string]*bytes.Buffer{"hard.sarif": &sarif, "none.sarif": &none, "results.xml": &junit} {
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[len(args)-1], err, out)
		}
	}
	check("xmllint", "--noout", "--schema", filepath.Join(*schemas, "junit-10.xsd"), "results.xml")
	validate := "import json, sys, jsonschema\njsonschema.Draft7Validator(json.load(open(sys.argv[1])))" +
		".validate(json.load(open(sys.argv[2])))"
	for _, name := range []string{"hard.sarif", "none.sarif"} {
		check("python3", "-c", validate, filepath.Join(*schemas, "sarif-schema-2.1.0.json"), name)
	}
}
