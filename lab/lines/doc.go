// Command lines finds the shell commands that public projects show in the files of their CI, their Makefiles, the
// scripts of their package.json and their documents, and counts which of them a policy asks about needlessly.
//
//	go run -C lab/lines . find DIR...            # checkouts; prints a line a command
//	go run -C lab/lines . count -obstat BIN FILE # such lines, labelled
//
// A person puts a label before each line, before anything has decided it: `ok` for a command that does nothing which
// the policies deny, `ask` for one that does or whose code nobody can see, `may` where both answers can be justified,
// and nothing else. The strict count has the `ok` ones that are not allowed, the generous one `may` as well.
//
// It owns the finding and the policies, links nothing of obstat and starts its binary.
package main
