package effect

import "testing"

// What another program lists, or find finds, is read: where secrets may be among that, it is
// not just a read.
func TestFoundFiles(t *testing.T) {
	for cmd, want := range map[string]bool{
		"find . -name '*.go' | xargs cat":                         true,
		"find src -type f -print0 | xargs -0 grep foo":            true,
		"find . -name '*.go' -exec cat {} +":                      true,
		"git ls-files | xargs wc -l":                              true,
		"rg -l foo | xargs cat":                                   true,
		"find ~/src -name '*.go' | xargs grep x":                  true,
		"find / -name x | xargs ls -l":                            true,
		"find / -name shadow | xargs cat":                         false,
		"find /etc -name 'sha*' | xargs cat":                      false,
		"find ~ -type f | xargs cat":                              false,
		"find ~ -exec cat {} +":                                   false,
		"find /root -exec cat {} +":                               false,
		"find ~/.ssh -type f -exec cat {} ';'":                    false,
		"find . / -name '*dow' -exec cat {} +":                    false,
		"cd / && find . -name shadow | xargs cat":                 false,
		"cd ~ && find . -type f | xargs cat":                      false,
		"fd . / | xargs cat":                                      false,
		"find . -maxdepth 0 -printf '/etc/shadow\\n' | xargs cat": false,
		"git ls-files --format=/etc/shadow | xargs cat":           false,
		"git ls-files --form=/etc/shadow | xargs cat":             false,
		"echo foo | grep -l --label=/etc/shadow foo | xargs cat":  false,
		"fd --format /etc/shadow | xargs cat":                     false,
		"sort --files0-from=list":                                 false,
	} {
		if an := AnalyzeCommand(cmd, testOptions()); an.ReadOnly != want {
			t.Errorf("%s: read-only is %v (%s)", cmd, an.ReadOnly, an.Why)
		}
	}
}
