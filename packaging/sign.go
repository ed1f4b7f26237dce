package packaging

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// signed signs the sums in the form of minisign. The words beside the signature name version and
// commit, and are signed with it; the same commit and key give the same bytes.
func (p *Product) signed(list File) File {
	says := fmt.Sprintf("%s v%s commit:%s timestamp:%d", p.Name, p.Version, p.Revision, p.Time.Unix())
	return File{list.Name + ".minisig", 0o644, p.Key.Sign(list.Data, says)}
}

type (
	statement struct {
		Type          string    `json:"_type"`
		Subject       []subject `json:"subject"`
		PredicateType string    `json:"predicateType"`
		Predicate     predicate `json:"predicate"`
	}
	subject struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	}
	predicate struct {
		BuildDefinition buildDefinition `json:"buildDefinition"`
		RunDetails      runDetails      `json:"runDetails"`
	}
	buildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		ResolvedDependencies []dependency   `json:"resolvedDependencies"`
	}
	dependency struct {
		URI    string            `json:"uri"`
		Digest map[string]string `json:"digest"`
	}
	runDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	}
	envelope struct {
		PayloadType string      `json:"payloadType"`
		Payload     string      `json:"payload"`
		Signatures  []signature `json:"signatures"`
	}
	signature struct {
		KeyID string `json:"keyid"`
		Sig   string `json:"sig"`
	}
)

// payloadType is the media type of an in-toto statement.
const payloadType = "application/vnd.in-toto+json"

// provenance says of which commit and for which targets the files were built, as an in-toto
// statement with SLSA's predicate in a signed envelope (DSSE).
func (p *Product) provenance(binaries []Binary, files []File) File {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, f := range files {
		s.Subject = append(s.Subject, subject{f.Name, map[string]string{"sha256": digest(f.Data)}})
	}
	var targets []string
	for _, b := range binaries {
		targets = append(targets, b.Target.String())
	}
	s.Predicate.BuildDefinition = buildDefinition{
		BuildType:          p.Homepage + "/packaging/make",
		ExternalParameters: map[string]any{"version": "v" + p.Version, "targets": targets},
		ResolvedDependencies: []dependency{{"git+" + p.Homepage + "@" + p.Revision,
			map[string]string{"gitCommit": p.Revision}}},
	}
	s.Predicate.RunDetails.Builder.ID = p.Homepage + "/packaging/make"
	payload := compact(s)
	sig := ed25519.Sign(p.Key.Key, pae(payloadType, payload))
	data, err := json.Marshal(envelope{payloadType, base64.StdEncoding.EncodeToString(payload),
		[]signature{{fmt.Sprintf("%X", p.Key.ID), base64.StdEncoding.EncodeToString(sig)}}})
	if err != nil {
		panic(err) // strings
	}
	return File{fmt.Sprintf("%s_%s.intoto.jsonl", p.Name, p.Version), 0o644, append(data, '\n')}
}

// pae is the encoding of a payload that DSSE signs.
func pae(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}
