package report

import (
	"encoding/xml"
	"io"
)

// A Suite is the cases of one file.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Cases    []Case   `xml:"testcase"`
}

// A Case is one case, which passed where it has neither a Failure nor an Error.
type Case struct {
	Name    string `xml:"name,attr"`
	Class   string `xml:"classname,attr"`
	Failure *Fault `xml:"failure"`
	Error   *Fault `xml:"error"`
}

// A Fault says how a case failed, or why it could not be run.
type Fault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add appends a case and counts it.
func (s *Suite) Add(c Case) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
}

// JUnit writes suites as JUnit's XML, in the form that Jenkins's schema junit-10 has.
func JUnit(w io.Writer, suites []*Suite) error {
	all := struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []*Suite
	}{Suites: suites}
	for _, s := range suites {
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
