package archtest

// modulePath is the module that the rules are about; its root package is "".
const modulePath = "github.com/obstat/obstat"

// An importRow says what one package, or every package below it where the name
// ends in "/...", may import of this module and of others. The standard library
// is free. Only code counts, not tests.
type importRow struct {
	pkg   string
	may   []string // packages of this module, "/..." for all below
	third []string // import paths of other modules, or their beginnings
	why   string   // the sentence a violation is answered with
}

// importTable is the table of the design document, top to bottom: an arrow
// never points to a row further down. The first row that fits a package counts.
var importTable = []importRow{
	{pkg: "pattern/internal/re",
		why: "re is Python's regular expressions; it knows no pattern flavour"},
	{pkg: "pattern/internal/minimatch", may: []string{"pattern/internal/re"},
		why: "minimatch turns a pattern into a tree of re, and knows no other flavour"},
	{pkg: "pattern", may: []string{"pattern/internal/re", "pattern/internal/minimatch", "internal/format/jsonx", "internal/format/tree"},
		why: "pattern only says which texts a pattern matches; it knows no tool, rule or verdict. JSON it reads as everybody does"},
	{pkg: "shell", third: []string{"mvdan.cc/sh/v3/syntax"},
		why: "shell reads shell text and nothing else; what a command does is effect's business"},
	{pkg: "paths",
		why: "paths is arithmetic on path names; it must not know who asks"},
	{pkg: "effect/kb",
		why: "effect/kb is text cut into blocks; the packages that read it know roles and words"},
	{pkg: "effect/internal/word",
		why: "word has questions about one word, and no table"},
	{pkg: "effect/internal/...", may: []string{"shell", "paths", "effect/kb", "effect/internal/word"},
		why: "the readers below effect have no effects: effect asks them, and they cannot know who asks"},
	{pkg: "effect", may: []string{"shell", "paths", "effect/kb", "effect/internal/...", "internal/format/jsonx", "internal/format/tree"},
		why: "effect says what calls do, whatever a policy thinks of it, so it cannot know policies"},
	{pkg: "internal/floor", may: []string{"pattern", "shell", "paths"},
		why: "internal/floor looks at texts and sets of paths; verdicts are the engine's"},
	{pkg: "", may: []string{"pattern", "shell", "paths", "effect", "internal/floor", "internal/format/jsonx", "internal/format/tree"},
		why: "the engine links only the shell parser; files, storage and faces come to it as data, and JSON it reads as everybody does"},

	{pkg: "confine", third: []string{"golang.org/x/sys/unix"},
		why: "confine is mechanism: it holds a command to a Profile, and must not know policies, agents or faces"},

	{pkg: "internal/format/tree",
		why: "tree is the document that all formats share; it cannot know any of them"},
	{pkg: "internal/format/jsonx", may: []string{"internal/format/tree"},
		why: "jsonx reads JSON for everybody and may know nobody"},
	{pkg: "internal/format/yamlx", may: []string{"internal/format/tree"},
		why: "yamlx reads YAML for everybody and may know nobody"},
	{pkg: "internal/format/tomlx", may: []string{"internal/format/tree"}, third: []string{"github.com/pelletier/go-toml/v2"},
		why: "tomlx reads TOML for everybody and may know nobody"},
	{pkg: "internal/format/textedit", may: []string{"internal/format/tree", "internal/format/jsonx", "internal/format/yamlx"}, third: []string{"github.com/gofrs/flock"},
		why: "textedit changes files for everybody; which change is the dialect's business"},
	{pkg: "internal/format/pytext", may: []string{"internal/format/tree", "internal/format/jsonx"},
		why: "pytext writes values as Python does, for dialects and hosts alike"},
	{pkg: "internal/format/jsonl/jsonltest", may: []string{"internal/format/jsonl"},
		why: "jsonltest reads recorded answers for everybody's tests and may know nobody"},
	{pkg: "internal/format/jsonl",
		why: "jsonl reads lines for everybody and may know nobody"},
	{pkg: "internal/archtest",
		why: "archtest looks at source text only"},

	{pkg: "agent", may: []string{"", "shell", "effect", "internal/format/jsonx", "internal/format/textedit", "internal/format/tomlx", "internal/format/tree"},
		why: "agent knows agents' protocols and settings files; it decides nothing, and the hook links it on every call, so it brings no storage or face"},
	{pkg: "dialect", may: []string{"", "agent", "pattern", "effect", "internal/format/tree", "internal/format/jsonx", "internal/format/yamlx", "internal/format/textedit"},
		why: "dialect is the contract of all dialects; it cannot know one of them"},
	{pkg: "dialect/kit", may: []string{"", "dialect", "pattern", "effect", "internal/format/tree", "internal/format/jsonx", "internal/format/textedit"},
		why: "dialect/kit is for authors of dialects; it cannot know one of them"},
	{pkg: "dialect/all", may: []string{"", "dialect/..."},
		why: "dialect/all is the one list of dialects, and only a list"},
	{pkg: "dialect/copilot", may: []string{"", "dialect", "dialect/claudecode", "dialect/kit", "pattern", "internal/format/textedit", "internal/format/tree"},
		why: "Copilot's approvals are written in Claude Code's notation or as expressions over commands; what they mean is claudecode's"},
	{pkg: "dialect/cursor", may: []string{"", "dialect", "dialect/claudecode", "internal/format/textedit"},
		why: "Cursor's rules are written in Claude Code's notation; what they mean is claudecode's"},
	{pkg: "dialect/qwen", may: []string{"", "dialect", "dialect/claudecode", "internal/format/textedit"},
		why: "Qwen Code's rules are Claude Code's with other names; what they mean is claudecode's"},
	{pkg: "dialect/...", may: []string{"", "dialect", "dialect/kit", "pattern", "shell", "paths", "effect", "internal/format/tree", "internal/format/jsonx", "internal/format/yamlx", "internal/format/textedit", "internal/format/tomlx", "internal/format/pytext"}, third: []string{"go.starlark.net"},
		why: "a dialect turns files into a Program and back; it cannot know other dialects, storage, servers or faces"},

	{pkg: "approval", may: []string{""},
		why: "approval puts asks to humans; storage implements its interfaces and dialects come as data"},
	{pkg: "ledger", may: []string{"", "internal/format/jsonx", "internal/format/tree"},
		why: "ledger records decisions; it takes no part in them"},
	{pkg: "ledger/logfile", may: []string{"ledger"}, third: []string{"golang.org/x/sys/windows"},
		why: "logfile keeps a ledger in a file; which records are written is the callers' business"},
	{pkg: "internal/guard/person/persontest", may: []string{"internal/guard/person"},
		why: "persontest plays a person for the tests of commands, and knows none of them"},
	{pkg: "internal/guard/person", may: []string{"agent", "paths"}, third: []string{"golang.org/x/sys/unix", "golang.org/x/term"},
		why: "person looks at processes and terminals; which command needs a person is the commands' business"},
	{pkg: "policy", may: []string{"", "agent", "internal/guard/person", "paths", "effect", "dialect", "dialect/all", "dialect/native", "ledger", "ledger/logfile", "internal/format/jsonx", "internal/keep/statedir", "internal/format/textedit", "internal/format/tree"},
		why: "policy finds the files in force and what was accepted of them; it decides by the engine and asks nobody"},
	{pkg: "internal/guard/protect", may: []string{"", "agent", "effect", "pattern", "paths", "shell"},
		why: "protect runs in the hook before every call: it knows names and effects, and must not bring storage along"},
	{pkg: "internal/guard/confined", may: []string{"internal/keep/statedir", "", "confine", "dialect/native", "effect", "effect/kb", "ledger", "paths", "pattern", "shell"},
		why: "confined makes a Profile by asking a policy that it is given; it finds no policy, asks nobody and knows no agent"},
	{pkg: "gate", may: []string{"", "confine", "dialect/native", "internal/guard/confined", "internal/study/diff", "internal/guard/person", "internal/guard/protect", "internal/keep/statedir", "effect", "dialect", "policy", "approval", "ledger", "internal/keep/memory"},
		why: "gate puts policy, grants, approvals and ledger together; faces and storage engines are chosen by whoever starts it"},
	{pkg: "host/...", may: []string{"", "dialect/...", "policy", "gate", "approval", "ledger", "pattern", "internal/format/tree", "internal/format/jsonx", "internal/format/textedit", "internal/format/pytext", "internal/face/display"},
		why: "a host is one system's flow as a face on the gate: it translates, and neither decides, asks, remembers nor records by itself"},
	{pkg: "client", may: []string{"", "approval", "ledger", "paths", "internal/format/jsonx"},
		why: "client is what others link to talk to a server, so it must not bring the server along"},

	{pkg: "internal/study/explain", may: []string{"", "pattern", "shell", "paths", "effect", "ledger", "internal/format/tree", "internal/format/jsonx"},
		why: "explain is a view of Programs and Decisions; it must say what the engine says, not decide again"},
	{pkg: "internal/study/lint", may: []string{"", "pattern", "shell", "paths", "effect", "ledger", "internal/format/tree", "internal/format/jsonx"},
		why: "lint analyses Programs, whichever dialect they came from"},
	{pkg: "internal/study/diff", may: []string{"", "pattern", "effect", "internal/format/jsonx", "internal/format/textedit", "internal/format/tree"},
		why: "diff compares what two Programs decide, whichever dialects they came from"},
	{pkg: "internal/study/convert", may: []string{"", "pattern", "paths", "effect", "dialect", "dialect/native", "internal/study/diff", "internal/study/explain", "internal/format/jsonx"},
		why: "convert says Programs in the words of one dialect, and proves it by the engine"},
	{pkg: "internal/study/suggest", may: []string{"", "effect", "paths", "dialect", "ledger", "internal/study/diff", "internal/study/explain"},
		why: "suggest chooses rules by the ledger; how a rule is said is the dialect's business"},
	{pkg: "internal/guard/initial", may: []string{"", "effect", "dialect", "dialect/native", "internal/study/convert", "internal/study/diff", "internal/format/tree", "internal/format/jsonx"},
		why: "initial drafts a text from what a project has; whether it is written is for a person to say"},
	{pkg: "internal/study/replay", may: []string{"", "pattern", "shell", "paths", "effect", "ledger", "internal/format/tree", "internal/format/jsonx", "internal/format/jsonl"},
		why: "replay decides recorded calls again; it needs the engine and the ledger"},
	{pkg: "internal/study/cases/casestest", may: []string{"dialect", "internal/study/cases", "internal/format/jsonl/jsonltest"},
		why: "casestest is for tests: it runs recorded answers against a dialect it is given"},
	{pkg: "internal/study/cases", may: []string{"", "dialect", "internal/format/tree", "internal/format/jsonx", "internal/format/jsonl"},
		why: "cases runs recorded answers against a dialect it is given"},
	{pkg: "internal/keep/changes", may: []string{"paths", "internal/keep/statedir"},
		third: []string{"github.com/gofrs/flock", "golang.org/x/sys/unix"},
		why:   "changes keeps files and puts them back; which call changes them, and who may take that back, others say"},
	{pkg: "internal/keep/killed", third: []string{"golang.org/x/sys/unix"},
		why: "killed traces a process for tests, and knows no store"},
	{pkg: "internal/guard/undo", may: []string{"", "confine", "dialect/native", "effect", "effect/kb", "ledger", "paths", "internal/keep/changes", "internal/keep/statedir"},
		why: "undo knows from effects what a call changes; it decides nothing"},
	{pkg: "internal/keep/statedir", third: []string{"github.com/gofrs/flock"},
		why: "statedir knows where files are, not what is in them"},
	{pkg: "internal/face/desk", third: []string{"github.com/gofrs/flock"},
		why: "desk is a lock that people hold; what they answer is not its business"},
	{pkg: "internal/face/display", may: []string{""},
		why: "display makes texts of calls fit to be looked at; where they are shown is not its business"},
	{pkg: "internal/face/hook", may: []string{"", "agent", "confine", "internal/guard/confined", "internal/guard/undo", "approval", "gate", "ledger", "ledger/logfile", "policy", "store", "internal/face/desk", "internal/keep/statedir", "internal/face/remote"},
		why: "hook translates between an agent's process and the gate, and sees to it that every failure denies; it decides nothing"},
	{pkg: "internal/face/inprocess", may: []string{"", "dialect", "dialect/all", "gate", "policy", "internal/study/explain", "internal/format/jsonx"},
		why: "inprocess is linked into a WebAssembly module that other programs load: it brings no server, store or command"},
	{pkg: "internal/face/play", may: []string{"", "dialect", "dialect/all", "internal/study/diff", "internal/study/explain", "internal/format/jsonx"},
		why: "play is loaded by browsers: it brings no gate, store, server or command, and stays under five megabytes"},
	{pkg: "internal/keep/...", may: []string{"", "approval", "ledger", "ledger/logfile", "internal/keep/...", "internal/keep/statedir"},
		third: []string{"modernc.org/sqlite", "zombiezen.com/go/sqlite", "github.com/jackc/pgx/v5", "github.com/gofrs/flock"},
		why:   "a store keeps what approval and ledger hand it; it knows neither policies nor faces"},
	{pkg: "store", may: []string{"approval", "ledger", "ledger/logfile", "internal/keep/..."},
		why: "store is the way to the engines for whoever embeds a gate, and only that"},
	{pkg: "internal/...", may: []string{"", "..."},
		third: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "golang.org/x/sys/unix", "github.com/prometheus/client_golang",
			"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2", "github.com/bwmarrin/discordgo", "github.com/fsnotify/fsnotify", "google.golang.org/adk", "github.com/gofrs/flock"},
		why: "the faces may use everything of this module and the libraries listed for them"},
	{pkg: "cmd/obstat", may: []string{"confine", "internal/face/cli"},
		why: "the command is os.Exit(cli.Main()), and before it the part of a confined run that is a process of its own"},
	{pkg: "examples/...", may: []string{"", "..."},
		why: "examples show the module, so they use nothing else"},
}

// testImports are the modules of others that tests may use besides.
var testImports = []string{"pgregory.net/rapid", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "github.com/goccy/go-yaml",
	"github.com/go-json-experiment/json", "github.com/chromedp", "github.com/getkin/kin-openapi", "github.com/go-jose/go-jose/v4", "github.com/jackc/pgx/v5", "mvdan.cc/sh/v3/syntax", "github.com/modelcontextprotocol/go-sdk",
	"golang.org/x/sys/unix"}

// mutableVars are package variables (package and name) that hold state, with the
// reason why nobody can tell.
var mutableVars = map[string]string{
	"internal/face/cli stamped":             "the linker sets it, and nothing changes it afterwards",
	"internal/face/play/wasm instance":      "it is the memory of a WebAssembly module, whose exported functions have no receiver",
	"internal/face/inprocess/wasm instance": "it is the memory of a WebAssembly module, whose exported functions have no receiver",
}

// allowers are the functions (package and name) that may put another verdict
// than the constants Deny and Ask into a Decision.
var allowers = map[string]string{
	"settle": "the one function of the module that produces Allow",
	"amend":  "shows a check of the arguments what was settled before it; nobody else sees that Decision",
}
