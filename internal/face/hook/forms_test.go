package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pathForms are ways to write a rule against changing the files below secret/, in each notation; HOME is the home.
var pathForms = map[string][]string{
	"claudecode": {`"Edit(/secret/**)"`, `"Edit(./secret/**)"`, `"Edit(secret/**)"`, `"Edit(//HOME/p/secret/**)"`, `"Edit(~/p/secret/**)"`, `"Edit(**/secret/**)"`, `"Edit(/secret/)"`, `"Edit(/secret/*)"`},
	"opencode":   {`"edit":{"*":"allow","secret/*":"deny"}`, `"edit":{"*":"allow","./secret/*":"deny"}`, `"edit":{"*":"allow","/HOME/p/secret/*":"deny"}`, `"edit":{"*":"allow","~/p/secret/*":"deny"}`, `"edit":{"*":"allow","**/secret/**":"deny"}`, `"edit":{"*":"allow","$HOME/p/secret/*":"deny"}`},
	"program": {`{"tool":"edit","field":"file_path","match":{"minimatch":"secret/**"},"verdict":"deny"}`, `{"tool":"edit","field":"file_path","match":{"minimatch":"./secret/**"},"verdict":"deny"}`, `{"tool":"edit","field":"file_path","match":{"minimatch":"/HOME/p/secret/**"},"verdict":"deny"}`,
		`{"tool":"edit","field":"file_path","match":{"minimatch":"~/p/secret/**"},"verdict":"deny"}`, `{"tool":"edit","field":"file_path","match":{"fnmatch":"secret/*"},"verdict":"deny"}`, `{"tool":"edit","field":"file_path","match":{"wildcard":"**/secret/*"},"verdict":"deny"}`, `{"tool":"edit","field":"file_path","match":{"re.search":"(^|/)secret/"},"verdict":"deny"}`},
	"native":     {"write ./secret", "write secret", "write /HOME/p/secret", "write ~/p/secret", "write secret/**", "'write **/secret/**'"},
	"agentscope": {`"Write":[RULE(Write,**/secret/**,deny)],"Edit":[RULE(Edit,**/secret/**,deny)]`, `"Write":[RULE(Write,/HOME/p/secret/**,deny)],"Edit":[RULE(Edit,/HOME/p/secret/**,deny)]`, `"Write":[RULE(Write,secret/**,deny)],"Edit":[RULE(Edit,secret/**,deny)]`, `"Write":[RULE(Write,./secret/**,deny)],"Edit":[RULE(Edit,./secret/**,deny)]`, `"Write":[RULE(Write,~/p/secret/**,deny)],"Edit":[RULE(Edit,~/p/secret/**,deny)]`},
	"jiuwen":     {`"rules":[{"id":"b","tools":["write_file","edit_file"],"pattern":"**/secret/**","action":"deny","severity":"CRITICAL"}]`, `"rules":[{"id":"b","tools":["write_file","edit_file"],"pattern":"/HOME/p/secret/**","action":"deny","severity":"CRITICAL"}]`, `"rules":[{"id":"b","tools":["write_file","edit_file"],"pattern":"secret/**","action":"deny","severity":"CRITICAL"}]`},
	"gemini":     {"[[rule]]\ntoolName = [\"write_file\", \"replace\"]\nargsPattern = '\"file_path\":\"[^\"]*secret/'\ndecision = \"deny\"\npriority = 300\n"},
}

// TestPathForms: a path rule holds however its path is written (from the project, with ./, from the root,
// from the home directory, as a glob), for every kind of tool, wherever the agent stands: in the project,
// below it, in a project inside or beside it, behind a link, in a directory that is gone, at the root.
func TestPathForms(t *testing.T) {
	open := `{"permission":{"*":"allow","external_directory":"allow"}}`
	for name, list := range pathForms {
		for n, form := range list {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				t.Parallel()
				if testing.Short() && n > 0 {
					t.Skip("-short: one form of a notation is looked at")
				}
				home := place(t, map[string]string{"p/src/deep/a": "", "p/secret/s": "", "p/secret/nb.ipynb": "{}", "q/opencode.json": open, "q/a": "", "p/inner/opencode.json": open})
				p := home + "/p"
				file, text := but(name, strings.NewReplacer("$HOME", "$HOME", "/HOME", home).Replace(form))
				if err := os.MkdirAll(filepath.Dir(p+"/"+file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p+"/"+file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(p, home+"/lp"); err != nil {
					t.Fatal(err)
				}
				for i, cwd := range []string{p, p + "/src/deep", p + "/inner", home + "/q", home + "/lp", home + "/lp/src", p + "/was/here", "/", home} {
					for k, c := range []cell{{kind: "write", arg: p + "/secret/x"}, {kind: "edit", arg: p + "/secret/s"}, {kind: "delete", arg: p + "/secret/s"}, {kind: "move", arg: p + "/secret/m"}, {kind: "two", arg: p + "/secret/s"},
						{kind: "multi", arg: p + "/secret/s"}, {kind: "notebook", arg: p + "/secret/nb.ipynb"}, {kind: "write", arg: home + "/lp/secret/x"}, {kind: "shell", arg: "touch " + p + "/secret/x"},
						{kind: "shell", arg: "cd " + p + " && echo x > secret/x"}, {kind: "shell", arg: "cp a " + home + "/lp/secret/"}, {kind: "background", arg: "tee ~/p/secret/x"}} {
						for h, who := range hosts {
							if !*full && (k+h+i+n)%12 != 0 {
								continue
							}
							if got, why := answer(t, who, home, cwd, c); got != "" && got != "deny" {
								t.Errorf("%s: %s in %s: %s %s: %s: %s", form, who, cwd, c.kind, c.arg, got, why)
							}
						}
					}
				}
			})
		}
	}
}
