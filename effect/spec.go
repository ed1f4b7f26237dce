package effect

import "sync/atomic"

// role is the meaning of a word of a command line to the program.
type role uint8

const (
	roleText      role = iota // no effect of its own
	roleRead                  // file whose content is read and may be shown
	rolePeek                  // file whose content is read but not shown
	roleList                  // file or directory of which only the existence, name or metadata is read
	roleWrite                 // file that is created or changed
	roleDelete                // file that is removed
	roleDir                   // directory that the program works in
	roleURL                   // address to connect to
	roleHost                  // host, or user@host, to connect to
	roleFrom                  // file, or host:file, that is read
	roleTo                    // file, or host:file, that is written
	roleRun                   // program; the rest are its arguments
	roleRunMore               // likewise, with arguments added from standard input
	roleExec                  // program and arguments up to ; or +
	roleShell                 // text that a shell runs
	roleRest                  // text that a shell runs, joined with all words that follow
	roleRemote                // likewise, on another machine
	roleParallel              // GNU parallel's template
	roleCode                  // code in another language
	roleScript                // file that is run
	roleModule                // named code that is run
	roleEnv                   // NAME=value for the program that is run
	roleSed                   // sed script
	roleAwk                   // awk program
	roleSQL                   // SQL text
	roleData                  // data to send; @file sends the file
	roleForm                  // name=value to send; name=@file sends the file
	roleMethod                // HTTP method
	roleGitConfig             // name=value setting of git
	roleSSHOption             // name=value setting of ssh
	roleName                  // shell pattern of the file names that are meant
	roleMaybe                 // file that is written if it is given
	roleTarFile               // archive: file or host:file, by the mode of tar
	roleSocat                 // address of socat
	roleRev                   // revision or tracked file: rev, rev:path or path
	roleRepo                  // directory of a repository
	roleMark                  // word that stands for others that are put in later
	roleAssign                // NAME or NAME=value that the shell assigns
	roleLookup                // name that is asked for on the network
	roleSetVar                // name of a variable that the shell assigns
	roleSetting               // name, which is shown, or name=value, which is set
	roleGitURL                // repository to ask
	roleEnvName               // name of a variable that is printed
	roleUnless                // text that is code if it has one of the words in parentheses
	roleInto                  // directory that files of any name are put in
	roleTracked               // revision, or tracked file that gets another content
	roleBlob                  // revision or tracked file whose content is shown: rev, rev:path or path
	roleSuffix                // end of a backup's name; with a slash, a path of its own
	rolePathspec              // tracked file that gets another content
	roleUndone                // tracked file whose uncommitted changes are lost: `git restore f`
	roleBranch                // revision that the working tree goes to: `git switch main`
	roleLink                  // file that gets a second name, by which it can be read and written
	roleMove                  // file that gets another name, by which it can be read
	roleMount                 // directory that a container is given: here:there
	roleWorkdir               // directory that a container works in
	roleEntry                 // program that a container runs, before its operands
	roleVia                   // addresses in a notation of the program's own: `80:h.example:443`
	roleDefine                // NAME=value, of which the program may run the value: `make CC=x`
	roleUnset                 // name of a variable that the shell forgets
	roleRefspec               // branch that is pushed; `+x` overwrites it there, `:x` removes it
)

// roleNames are the roles as the knowledge base writes them. Like verbNames and styleNames it is no
// map, which every process would have to build.
var roleNames = [...]string{
	roleText: "text", roleRead: "read", rolePeek: "peek", roleList: "list", roleWrite: "write", roleDelete: "delete",
	roleDir: "dir", roleURL: "url", roleHost: "host", roleFrom: "from", roleTo: "to", roleRun: "run",
	roleRunMore: "run+", roleExec: "exec", roleShell: "shell", roleRest: "rest", roleRemote: "remote",
	roleParallel: "parallel", roleCode: "code", roleScript: "script", roleModule: "module", roleEnv: "env",
	roleSed: "sed", roleAwk: "awk", roleSQL: "sql", roleData: "data", roleForm: "form", roleMethod: "method",
	roleGitConfig: "gitconfig", roleSSHOption: "sshoption", roleName: "name", roleMaybe: "maybe",
	roleTarFile: "tarfile", roleSocat: "socat", roleRev: "rev", roleRepo: "repo", roleMark: "mark",
	roleAssign: "assign", roleLookup: "lookup", roleSetVar: "setvar", roleSetting: "setting", roleGitURL: "giturl",
	roleEnvName: "envname", roleUnless: "unless", roleInto: "into", roleTracked: "tracked", rolePathspec: "pathspec",
	roleUndone: "undone", roleBranch: "branch", roleBlob: "blob", roleSuffix: "suffix", roleLink: "link",
	roleMove: "move", roleMount: "mount", roleWorkdir: "workdir", roleEntry: "entry", roleDefine: "define",
	roleVia: "via", roleRefspec: "refspec", roleUnset: "unset",
}

// risky reports whether a word of this role can do more than be looked at. A program with a
// risky flag is not read-only when a word that could be that flag is not known.
func (r role) risky() bool {
	switch r {
	case roleText, rolePeek, roleList, roleName, roleRev, roleBlob, roleMark, roleUnless, roleDefine:
		return false
	}
	return true
}

// operand is a place for operands: one, or any number if many.
type operand struct {
	role role
	lang string // of roleCode
	many bool
}

// verb is the effect of a program, subcommand or flag.
type verb uint8

const (
	doesRead       verb = iota // nothing but read
	doesQuery                  // ask another machine
	doesConnect                // send to, change or fetch from another machine
	doesCredential             // fetch a secret from another machine
	doesWrite                  // change files
	doesDelete                 // remove files
	doesSystem                 // change the machine, an account, a process or a service
	doesCode                   // run code that is named but not looked into
	doesOpaque                 // run code that cannot be seen
	doesHelp                   // print something and stop, whatever else is said
	doesInPlace                // the files that are read are written, too
	doesRecursive              // everything below the paths is meant
	doesForce                  // without questions or safety checks
	doesArgs                   // other operands
	doesDry                    // only tell, do nothing
	doesRepo                   // read, but the repository's configuration may run programs
	doesEnviron                // print the environment
	doesLoads                  // read the file in parentheses
	doesSaves                  // write the file in parentheses
	doesCreate                 // write the archive instead of reading it
	doesTree                   // read everything below the working directory if no path is given
	doesIdle                   // without operands, standard input is not read
	doesLinked                 // the files that are read get a second name
	doesExports                // put the file in parentheses into the environment of the command that it runs
	doesRenames                // a directory takes the place of another, rather than going into it
	doesFromInput              // names of the files to read come from standard input
	doesInstead                // the file that `loads` names is not read
	doesAs                     // the command in parentheses by another name
)

// verbNames are the verbs as the knowledge base writes them.
var verbNames = [...]string{
	doesRead: "read", doesQuery: "query", doesConnect: "connect", doesCredential: "credential", doesWrite: "write",
	doesDelete: "delete", doesSystem: "system", doesCode: "code", doesOpaque: "opaque", doesHelp: "help",
	doesInPlace: "inplace", doesRecursive: "recursive", doesForce: "force", doesArgs: "args", doesDry: "dry",
	doesRepo: "repo", doesEnviron: "environ", doesLoads: "loads", doesSaves: "saves", doesCreate: "create",
	doesTree: "tree", doesIdle: "idle", doesLinked: "linked", doesExports: "exports", doesRenames: "renames",
	doesFromInput: "input", doesInstead: "instead", doesAs: "as",
}

// kind is the kind of effect that a verb has of its own, 0 if it has none.
func (v verb) kind() Kind {
	switch v {
	case doesQuery, doesConnect, doesCredential:
		return Connect
	case doesWrite:
		return Write
	case doesDelete:
		return Delete
	case doesSystem:
		return System
	case doesCode, doesOpaque, doesRepo:
		return Code
	case doesEnviron:
		return Read
	}
	return 0
}

// harmless reports whether the verb alone changes nothing.
func (v verb) harmless() bool {
	switch v {
	case doesRead, doesQuery, doesHelp, doesRecursive, doesForce, doesArgs, doesDry, doesRepo, doesEnviron, doesCreate,
		doesTree, doesIdle, doesLinked, doesRenames, doesFromInput, doesInstead, doesAs:
		return true
	}
	return false
}

// deed is a verb with its detail.
type deed struct {
	verb   verb
	tags   Tags
	detail string    // for a person
	args   []operand // of doesArgs
}

// arity is whether a flag takes a value.
type arity uint8

const (
	alone    arity = iota
	required       // -x v, -xv, --x v, --x=v
	optional       // -xv, --x=v
)

// flag is one option of a program.
type flag struct {
	global bool // holds before and after the subcommand
	dash   bool // a long name with one dash
	arity  arity
	role   role
	lang   string
	pair   bool // takes two values; the role is that of the second
	said   bool // the role of its value is given
	deeds  []deed
}

// harmful reports whether the flag can do more than read a file.
func (f *flag) harmful() bool {
	return f.risky() && !(len(f.deeds) == 0 && f.role == roleRead)
}

// runs reports whether the flag can make the program run another, or code.
func (f *flag) runs() bool {
	for i := range f.deeds {
		if v := f.deeds[i].verb; v == doesCode || v == doesOpaque {
			return true
		}
	}
	switch f.role {
	case roleRun, roleRunMore, roleExec, roleShell, roleRest, roleRemote, roleParallel, roleCode, roleScript,
		roleModule, roleGitConfig, roleSSHOption:
		return f.arity != alone
	}
	return false
}

func (f *flag) risky() bool {
	if f.arity != alone && f.role.risky() {
		return true
	}
	for i := range f.deeds {
		switch f.deeds[i].verb {
		case doesRead, doesQuery, doesHelp, doesRecursive, doesDry, doesRepo, doesForce, doesEnviron, doesTree,
			doesIdle, doesLinked, doesRenames, doesFromInput, doesInstead, doesAs:
		case doesArgs:
			for _, o := range f.deeds[i].args {
				if o.role != roleRead && o.role.risky() {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// style is how a program reads its words.
type style uint32

const (
	styleStop    style = 1 << iota // flags end at the first operand
	styleDash                      // long flags have one dash
	styleFind                      // find's expressions
	styleKV                        // operands name=value are flags
	styleBSD                       // the first operand may be a bundle of flags without a dash
	styleNone                      // no flags at all
	stylePlus                      // words that begin with + are flags without effect
	stylePager                     // likewise, if they only say where to begin
	styleBuiltin                   // a part of the shell, not a program
	styleLast                      // a word that is not a known subcommand is an operand
	styleOrder                     // a directory counts for the operands after it
	styleGit                       // words are those of git
	styleEcho                      // words are printed
	styleChain                     // a semicolon at the end of a word begins another command
	styleChains                    // a semicolon anywhere does
	stylePairs                     // letters of flags stand together, of which two may be one: `zip -qrTT`
	styleFile                      // the first operand is the file of a database
	styleQuotes                    // quotes in SQL are names of files
	styleEval                      // the words are run
)

// styleNames are the styles in the order of their bits.
var styleNames = [...]string{"stop", "dash", "find", "kv", "bsd", "none", "plus", "pager", "builtin", "last", "order",
	"git", "echo", "chain", "chains", "pairs", "file", "quotes", "eval"}

// spec is an entry of the knowledge base: a program or subcommand.
type spec struct {
	does    []deed
	bare    []deed // without any subcommand
	few     int    // with at most this many operands, does is fewer
	fewer   []deed
	args    []operand
	anyArgs bool     // nothing is said of the operands
	stdin   *operand // of standard input when there are no operands
	style   style
	flagTable
	subTable
	words int // names of a subcommand
	err   error
}

// flagTable finds the flags of a program.
type flagTable struct {
	flags  []flag
	long   nameTable    // places in flags
	short  *[128]uint16 // likewise plus one, by byte; nil if there are none
	number uint16       // likewise, of -5
	parent *spec        // whose global flags hold here, too
	risk
}

// risk is the worst that a flag of a program can do.
type risk struct {
	risky      bool // more than look at names
	harmful    bool // more than read
	runs       bool // run a program or code
	globalRuns bool // likewise, of a flag that holds after the subcommand, too
	globalRisk bool // risky, of such a flag
}

// subTable finds the subcommands of a program.
type subTable struct {
	dict  *dictionary
	subs  []sub
	deep  int       // most names that one of subs has
	first nameTable // places in subs of those whose first name is a word
	wild  []uint16  // and of those whose first name is a pattern
}

// sub is a subcommand, compiled when it is first met.
type sub struct {
	names string // alternatives are joined by |
	body  string
	begin [maxSubWords]uint32 // letters that each name may begin with, see letter
	words int
	alts  int // how many alternatives its names have
	spec  atomic.Pointer[spec]
}

// letter is a set of letters that a byte stands for; every set has the * and the ~.
func letter(c byte) uint32 {
	if c == '*' || c == '~' {
		return 1<<32 - 1
	}
	return 1 << (c & 31)
}

// maxOperands is more operands than any command has.
const maxOperands = 1 << 30

// stdinAt is how many operands there may be when standard input is read: those before the one
// that would stand for it, as the database before the SQL, or the time before the commands.
func (s *spec) stdinAt() int {
	for i := range s.args {
		if s.args[i].role == s.stdin.role && s.stdin.role == roleSQL {
			return i
		}
	}
	if s.stdin.role == roleSQL {
		return maxOperands // `psql app`
	}
	if s.stdin.role == roleRemote {
		return 1 // `ssh host`
	}
	if (s.stdin.role == roleShell || s.stdin.role == roleCode) && s.args[0].role == roleText {
		return maxOperands // `at now + 1 hour`
	}
	return 0
}

func (s *spec) hasSubs() bool { return s.subs != nil }
