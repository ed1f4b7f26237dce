package effect

import "slices"

// Tags tell code that decides more about an effect. Detail says the same
// for a person, in words that may change at any time.
type Tags uint32

// The tags. Those up to Here can be written in the knowledge base, behind the verb:
// `write.contents(extracted files)`.
const (
	// Contents: files of any name appear, those of an archive, a patch or another tree: `tar -x`.
	Contents Tags = 1 << iota
	// Taken: the operands are taken away with everything in them: `rsync --remove-source-files`.
	Taken
	// Transfer: files are copied from or to another machine: `scp`, `aws s3 cp`.
	Transfer
	// Found: the files that a search finds: `find -delete`.
	Found
	// Tree: tracked files get the content of another commit: `git checkout main`.
	Tree
	// Clean: files that are not tracked are removed or put away: `git clean`.
	Clean
	// Books: only the program's own files, which have no names in the call: `.git`, `node_modules`, a cache.
	Books
	// Container: the command runs in a container.
	Container
	// Stdin: the code that runs comes from standard input: `sh` in a pipe.
	Stdin
	// Patch: the files are those that a patch names.
	Patch
	// Fetch: packages are downloaded from where the tool's own configuration says: `npm ci`.
	Fetch
	// Hooks: code that a program runs beside its own work: those of `git commit`.
	Hooks
	// Here: which files is not said, but they lie in the directory that the command works in: `tsc`.
	Here
	// Redirect: the shell opens the file, not the program.
	Redirect
	// List: only the file's name and metadata are read.
	List
	// Script: a file of code, or a module, is run by its name.
	Script
	// Linked: the file that is read gets a second name: `ln`, `cp -l`.
	Linked
	// Inline: the code stands in the call: `python3 -c`.
	Inline
	// Into: files of any name are put in the directory: `wget -P dir`.
	Into
	// Destroy: something on another machine is destroyed: `aws s3 rb`.
	Destroy
	// Sent: data or a method goes to the host that the command's address names: `curl -X POST`.
	Sent
	// Worktree: git reads the files as they lie in the working tree, and not out of its store: `git grep x`.
	Worktree
)

// tagNames are the tags that the knowledge base may write, in the order of their bits.
var tagNames = [...]string{"contents", "taken", "transfer", "found", "tree", "clean", "books", "container", "stdin",
	"patch", "fetch", "hooks", "here"}

// Has reports whether one of the tags is set.
func (t Tags) Has(any Tags) bool { return t&any != 0 }

// tagNamed returns the tag of a name, 0 if there is none.
func tagNamed(name string) Tags {
	if i := slices.Index(tagNames[:], name); i >= 0 {
		return 1 << i
	}
	return 0
}
