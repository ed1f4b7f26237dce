package pattern

import "testing"

func TestCharacterNames(t *testing.T) {
	for re, text := range map[string]string{
		`\N{LATIN SMALL LETTER A}`: "a", `\N{latin small letter a with diaeresis}`: "ä", `[\N{DIGIT ONE}-\N{DIGIT THREE}]`: "2", `\N{EM DASH}+`: "——",
	} {
		if ok, err := MustCompile(Full, re).Match(text); !ok || err != nil {
			t.Errorf("%s on %q: %v, %v", re, text, ok, err)
		}
	}
	for re, want := range map[string]string{
		`\N`: "missing { at offset 2", `\Na`: "missing { at offset 2", `\N{`: "missing character name at offset 3", `\N{}`: "missing character name at offset 3",
		`\N{DIGIT`: "missing }, unterminated name at offset 3", `x\N{NO SUCH}`: "undefined character name 'NO SUCH' at offset 1",
	} {
		if _, err := Compile(Full, re); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", re, err, want)
		}
	}
}
