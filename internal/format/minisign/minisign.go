// Package minisign signs files and checks signatures in the form of minisign
// (https://jedisct1.github.io/minisign/): ed25519 over the file's BLAKE2b-512.
//
// It owns keys and signatures as text. Which file has to be signed, and by which key, is the
// business of callers. Keys that are locked with a password are refused.
package minisign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// A PublicKey checks signatures.
type PublicKey struct {
	ID  [8]byte
	Key ed25519.PublicKey
}

// A SecretKey signs.
type SecretKey struct {
	ID  [8]byte
	Key ed25519.PrivateKey
}

// comment is the first line of every signature here. minisign signs no first line, so that another
// text in it is refused: a changed byte anywhere has to show.
const comment = "untrusted comment: signature of an obstat release"

const trusted = "trusted comment: "

// body returns the bytes of the line behind a comment, or of a text that is that line alone.
func body(text string) ([]byte, error) {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if len(lines) > 2 || len(lines) == 2 && !strings.HasPrefix(lines[0], "untrusted comment:") {
		return nil, errors.New("it is no key of minisign: one comment and one line are expected")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(line)
	if err != nil || len(data) < 2 || string(data[:2]) != "Ed" {
		return nil, errors.New("it is no key of minisign")
	}
	return data, nil
}

// ParsePublic reads a public key: the text of a `minisign.pub`, or its second line.
func ParsePublic(text string) (k PublicKey, err error) {
	data, err := body(text)
	if err != nil {
		return k, err
	}
	if len(data) != 2+8+ed25519.PublicKeySize {
		return k, errors.New("it is no public key of minisign")
	}
	copy(k.ID[:], data[2:])
	k.Key = bytes.Clone(data[10:])
	return k, nil
}

// ParseSecret reads a secret key without a password, as `minisign -G -W` makes it.
func ParseSecret(text string) (k SecretKey, err error) {
	data, err := body(text)
	if err != nil {
		return k, err
	}
	// algorithm 2, kind of password 2, checksum's 2, salt 32, limits 8 and 8, then ID 8, key 64, checksum 32
	switch {
	case len(data) != 158:
		return k, errors.New("it is no secret key of minisign")
	case data[2] != 0 || data[3] != 0:
		return k, errors.New("the secret key is locked with a password: `minisign -C -W` takes it off")
	}
	copy(k.ID[:], data[54:])
	k.Key = bytes.Clone(data[62:126])
	if !bytes.Equal(ed25519.NewKeyFromSeed(k.Key[:32]), k.Key) {
		return k, errors.New("the secret key is damaged")
	}
	return k, nil
}

// Public returns the key that checks signatures of k.
func (k *SecretKey) Public() PublicKey {
	return PublicKey{k.ID, bytes.Clone(k.Key[32:])}
}

// String writes the key as `minisign.pub` has it.
func (k *PublicKey) String() string {
	data := append(append([]byte("Ed"), k.ID[:]...), k.Key...)
	return fmt.Sprintf("untrusted comment: minisign public key %X\n%s\n", flip(k.ID),
		base64.StdEncoding.EncodeToString(data))
}

// flip turns the bytes of an ID round, since minisign prints it as a number.
func flip(id [8]byte) []byte {
	out := make([]byte, 0, 8)
	for i := range id {
		out = append(out, id[7-i])
	}
	return out
}

// Sign returns the signature of a file; says is signed with it, and is one line.
func (k *SecretKey) Sign(file []byte, says string) []byte {
	sum := blake2b512(file)
	sig := ed25519.Sign(k.Key, sum[:])
	return write(k.ID, sig, says, ed25519.Sign(k.Key, append(bytes.Clone(sig), says...)))
}

func write(id [8]byte, sig []byte, says string, global []byte) []byte {
	line := append(append([]byte("ED"), id[:]...), sig...)
	return fmt.Appendf(nil, "%s\n%s\n%s%s\n%s\n", comment, base64.StdEncoding.EncodeToString(line), trusted, says,
		base64.StdEncoding.EncodeToString(global))
}

// Verify checks the signature of a file, and returns the words that were signed with it. A signature
// is taken only in the form that [SecretKey.Sign] writes, to the byte.
func (k *PublicKey) Verify(file, signature []byte) (says string, err error) {
	lines := strings.Split(string(signature), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[2], trusted) {
		return "", errors.New("the signature is damaged: four lines are expected")
	}
	says = lines[2][len(trusted):]
	line, err := base64.StdEncoding.Strict().DecodeString(lines[1])
	global, err2 := base64.StdEncoding.Strict().DecodeString(lines[3])
	if err != nil || err2 != nil || len(line) != 74 || len(global) != ed25519.SignatureSize {
		return "", errors.New("the signature is damaged")
	}
	var id [8]byte
	copy(id[:], line[2:])
	switch sum := blake2b512(file); {
	case !bytes.Equal(write(id, line[10:], says, global), signature):
		return "", errors.New("the signature is damaged, or of another program")
	case id != k.ID:
		return "", fmt.Errorf("it is signed with the key %X, not with %X", flip(id), flip(k.ID))
	case !ed25519.Verify(k.Key, sum[:], line[10:]):
		return "", errors.New("the signature does not hold: the file is another than the one that was signed")
	case !ed25519.Verify(k.Key, append(bytes.Clone(line[10:]), says...), global):
		return "", errors.New("the signature does not hold for the words beside it")
	}
	return says, nil
}
