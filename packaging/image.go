package packaging

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// The media types of an image in the layout of the Open Container Initiative.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// A descriptor points to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// An imageConfig says how a container of the image starts.
type imageConfig struct {
	Created      string `json:"created"`
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		WorkingDir string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// image makes one image file for all Linux binaries: the binary, the documents and
// the playground, and nothing else.
// It can be loaded as an OCI layout (skopeo, podman, containerd, docker load).
func (p *Product) image(binaries []Binary) (File, error) {
	var blobs []File
	blob := func(mediaType string, data []byte) descriptor {
		f := File{"blobs/sha256/" + digest(data), 0o644, data}
		if !slices.ContainsFunc(blobs, func(o File) bool { return o.Name == f.Name }) {
			blobs = append(blobs, f)
		}
		return descriptor{MediaType: mediaType, Digest: "sha256:" + digest(data), Size: len(data)}
	}
	var manifests []descriptor
	for _, b := range binaries {
		program := p.program(b)
		program.Name = path.Join("usr/bin", program.Name)
		tarball, err := p.tarball(slices.Concat([]File{program}, p.docs("usr/share/doc/"+p.Name),
			below("usr/share/"+p.Name+"/play", p.Play)), false)
		if err != nil {
			return File{}, err
		}
		layer := blob(typeLayer, tarball)
		c := imageConfig{Created: p.Time.UTC().Format(time.RFC3339), Architecture: b.Arch, OS: b.OS}
		c.Config.User, c.Config.Entrypoint, c.Config.WorkingDir = "65532:65532", []string{"/" + program.Name}, "/"
		c.Config.Labels = map[string]string{"org.opencontainers.image.title": p.Name,
			"org.opencontainers.image.version":  p.Version,
			"org.opencontainers.image.licenses": p.License, "org.opencontainers.image.source": p.Homepage,
			"org.opencontainers.image.description": p.Summary}
		c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{layer.Digest}
		manifest := blob(typeManifest, compact(map[string]any{"schemaVersion": 2, "mediaType": typeManifest,
			"config": blob(typeConfig, compact(c)), "layers": []descriptor{layer}}))
		manifest.Platform = &platform{b.Arch, b.OS}
		manifests = append(manifests, manifest)
	}
	list := blob(typeIndex, compact(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests}))
	list.Annotations = map[string]string{"org.opencontainers.image.ref.name": p.Version,
		"io.containerd.image.name": p.Name + ":" + p.Version}
	slices.SortFunc(blobs, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	data, err := p.tarball(slices.Concat([]File{{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, compact(map[string]any{"schemaVersion": 2, "mediaType": typeIndex,
			"manifests": []descriptor{list}})}}, blobs), false)
	return File{fmt.Sprintf("%s_%s_image.tar", p.Name, p.Version), 0o644, data}, err
}

// compact writes a value of our own making as JSON.
func compact(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings, numbers and maps of them
	}
	return b
}

// sbom lists the modules that a binary was built from, as CycloneDX does, from the record that the linker wrote
// into it.
func (p *Product) sbom(b Binary) (File, error) {
	name := fmt.Sprintf("%s_%s_%s.cdx.json", p.Name, p.Version, b.Target)
	info, err := buildinfo.Read(bytes.NewReader(b.Data))
	if err != nil {
		return File{}, fmt.Errorf("%s: which modules it was built from cannot be told: %w", b.Target, err)
	}
	type property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Purl       string     `json:"purl"`
		Hashes     []any      `json:"hashes,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	of := func(kind, path, version, sum string) component {
		purl := "pkg:golang/" + path + "@" + version
		c := component{Type: kind, Ref: purl, Name: path, Version: version, Purl: purl}
		if sum != "" {
			c.Properties = []property{{"go:sum", sum}}
		}
		return c
	}
	main := of("application", info.Main.Path, "v"+p.Version, "")
	main.Hashes = []any{map[string]string{"alg": "SHA-256", "content": digest(b.Data)}}
	list := []component{of("library", "std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	refs := []string{list[0].Ref}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := of("library", m.Path, m.Version, m.Sum)
		list, refs = append(list, c), append(refs, c.Ref)
	}
	id := digest(b.Data)
	data, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"serialNumber": "urn:uuid:" + id[:8] + "-" + id[8:12] + "-4" + id[13:16] + "-8" + id[17:20] + "-" + id[20:32],
		"metadata": map[string]any{"timestamp": p.Time.UTC().Format(time.RFC3339), "component": main,
			"properties": []property{{"go:target", b.OS + "/" + b.Arch}}},
		"components": list, "dependencies": []any{map[string]any{"ref": main.Ref, "dependsOn": refs}},
	}, "", "  ")
	return File{name, 0o644, append(data, '\n')}, err
}
