package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/obstat/obstat/internal/format/minisign"
)

// The names of a release's list of sums and of its signature.
const (
	sumsName = "SHA256SUMS"
	sigName  = sumsName + ".minisig"
)

// maxSums bounds both.
const maxSums = 1 << 20

// verifyOptions are the options of obstat verify.
type verifyOptions struct {
	*Factory
	Key string `flag:"key"`
}

func newVerify(f *Factory) *cobra.Command {
	o := &verifyOptions{Factory: f}
	return command("verify", some(1, -1), o, o.run)
}

// verifyJSON is the output of `obstat verify --json`.
type verifyJSON struct {
	V       int      `json:"v"`
	Release string   `json:"release"` // words that are signed with the sums
	Files   []string `json:"files"`   // that are as they were signed
	Wrong   []string `json:"wrong"`   // a sentence each
}

func (o *verifyOptions) run(_ context.Context, args []string) error {
	key, err := o.key()
	if err != nil {
		return err
	}
	dir, names, err := toVerify(args)
	if err != nil {
		return err
	}
	sums, says, err := signedSums(dir, &key)
	if err != nil {
		return err
	}
	out := verifyJSON{V: 1, Release: says, Files: []string{}, Wrong: []string{}}
	for _, name := range names {
		if wrong := checkSum(dir, name, sums); wrong != "" {
			out.Wrong = append(out.Wrong, wrong)
		} else {
			out.Files = append(out.Files, name)
		}
	}
	err = o.show(out, func(s *screen) {
		for _, name := range out.Files {
			s.printf("%s  %s\n", s.io.paint(green, "ok"), visible(name))
		}
		for _, wrong := range out.Wrong {
			s.printf("%s %s\n", s.io.paint(red, "NO"), visible(wrong))
		}
		s.printf("%s: %s as signed, %d not\n", visible(says), plural(len(out.Files), "file"), len(out.Wrong))
	})
	if err == nil && len(out.Wrong) > 0 {
		err = done(ExitError)
	}
	return err
}

// key reads --key: a file, or the line of a public key itself.
func (o *verifyOptions) key() (k minisign.PublicKey, err error) {
	if o.Key == "" {
		return k, usagef("--key is missing: the public key of the release, from a place other than the release")
	}
	text := o.Key
	if data, readErr := readBounded(o.Key); readErr == nil {
		text = string(data)
	} else if !errors.Is(readErr, os.ErrNotExist) {
		return k, readErr
	}
	if k, err = minisign.ParsePublic(text); err != nil {
		return k, fmt.Errorf("%s: %w", o.Key, err)
	}
	return k, nil
}

// toVerify returns the directory of the files to check, and their names: all of a directory, or those
// that are named.
func toVerify(args []string) (dir string, names []string, err error) {
	if info, err := os.Stat(args[0]); err != nil {
		return "", nil, err
	} else if !info.IsDir() {
		dir = filepath.Dir(args[0])
		for _, name := range args {
			if filepath.Dir(name) != dir {
				return "", nil, usagef("the files have to be in one directory, with %s", sumsName)
			}
			names = append(names, filepath.Base(name))
		}
		return dir, names, nil
	}
	if len(args) > 1 {
		return "", nil, usagef("one directory, or files of one")
	}
	entries, err := os.ReadDir(args[0])
	for _, e := range entries {
		if e.Name() != sumsName && e.Name() != sigName {
			names = append(names, e.Name())
		}
	}
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s has nothing to check", args[0])
	}
	return args[0], names, err
}

// signedSums reads the sums of a release and checks their signature.
func signedSums(dir string, key *minisign.PublicKey) (map[string]string, string, error) {
	list, err := readBounded(filepath.Join(dir, sumsName))
	if err != nil {
		return nil, "", err
	}
	sig, err := readBounded(filepath.Join(dir, sigName))
	if err != nil {
		return nil, "", err
	}
	says, err := key.Verify(list, sig)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", filepath.Join(dir, sumsName), err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || len(sum) != 2*sha256.Size {
			return nil, "", fmt.Errorf("%s: it has a line that is no sum", filepath.Join(dir, sumsName))
		}
		sums[name] = sum
	}
	return sums, says, nil
}

// checkSum returns the reason why a file is not as it was signed, "" if it is.
func checkSum(dir, name string, sums map[string]string) string {
	want, ok := sums[name]
	if !ok {
		return name + " is no file of this release"
	}
	r, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return err.Error()
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return name + " is not the file that was signed"
	}
	return ""
}

func readBounded(name string) ([]byte, error) {
	data, whole, err := readAtMost(name, maxSums)
	if err == nil && !whole {
		err = fmt.Errorf("%s is too large", name)
	}
	return data, err
}
