package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/obstat/obstat/internal/format/tree"
	"github.com/obstat/obstat/internal/format/yamlx"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDeployCommands: what the files for systemd, containers and Kubernetes start is a
// command that obstat has, with flags that it has.
func TestDeployCommands(t *testing.T) {
	unit := regexp.MustCompile(`(?m)^ExecStart=\S+ serve (.*)$`).FindStringSubmatch(deployFile(t, "obstat.service"))
	entry := regexp.MustCompile(`(?m)^ENTRYPOINT (\[.*\])$`).FindStringSubmatch(deployFile(t, "Containerfile"))
	if unit == nil || entry == nil {
		t.Fatal("the files name no command")
	}
	list := func(text string) (out []string) {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	image := list(entry[1])
	if len(image) < 2 || image[1] != "serve" {
		t.Fatalf("%q", image)
	}
	commands := map[string][]string{"obstat.service": strings.Fields(unit[1]), "Containerfile": image[2:]}
	for name, text := range manifests(t) {
		args := slices.Clone(image[2:])
		for _, arg := range parts(t, text)["Deployment"].Get("spec").Get("template").Get("spec").Get("containers").Elems[0].Get("args").Elems {
			args = append(args, arg.Str)
		}
		commands[name] = args
	}
	for name, words := range commands {
		cmd := newServe(newFactory(&IO{}))
		if err := cmd.ParseFlags(words); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if rest := cmd.Flags().Args(); len(rest) > 0 {
			t.Errorf("%s: %q is no flag", name, rest)
		}
	}
}

// manifests are what a cluster is given: the file, and the chart as its defaults and as other values have it.
func manifests(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"kubernetes.yaml": deployFile(t, "kubernetes.yaml"),
		"the chart":       chart(t, nil),
		"the chart with more": chart(t, map[string]any{"trustedProxies": []any{"10.0.0.0/8", "fd00::/8"}, "envSecret": "keys",
			"args":          []any{"--roster", "/policy/roster.json"},
			"networkPolicy": map[string]any{"enabled": true, "from": []any{map[string]any{"podSelector": map[string]any{}}}}}),
		"the chart alone": chart(t, map[string]any{"replicas": json.Number("3"), "networkPolicy": map[string]any{"enabled": false, "from": []any{}}}),
	}
}

// chart renders the Helm chart with the functions that its template uses; values take the place of defaults.
func chart(t *testing.T, values map[string]any) string {
	t.Helper()
	n, problems := yamlx.Parse([]byte(deployFile(t, "helm/obstat/values.yaml")), yamlx.Options{})
	if tree.Fatal(problems) {
		t.Fatalf("%v", problems)
	}
	all := valueOf(n).(map[string]any)
	maps.Copy(all, values)
	whole := func(v any) (int, error) { return strconv.Atoi(fmt.Sprint(v)) }
	text, err := template.New("chart").Option("missingkey=error").Funcs(template.FuncMap{
		"quote": func(v any) string { return strconv.Quote(fmt.Sprint(v)) }, "int": whole,
		"max": func(a, b int) int { return max(a, b) }, "sub": func(a, b int) int { return a - b },
		"toYaml":  func(v any) (string, error) { out, err := json.Marshal(v); return string(out), err }, // is YAML as well
		"nindent": func(n int, text string) string { return "\n" + strings.Repeat(" ", n) + text },
	}).Parse(deployFile(t, "helm/obstat/templates/all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := text.Execute(&out, map[string]any{"Values": all, "Release": map[string]any{"Name": "obstat"}}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// valueOf returns a node as Go's own values.
func valueOf(n *tree.Node) any {
	switch n.Kind {
	case tree.Object:
		out := map[string]any{}
		for _, m := range n.Members {
			out[m.Key] = valueOf(m.Value)
		}
		return out
	case tree.Array:
		out := []any{}
		for _, e := range n.Elems {
			out = append(out, valueOf(e))
		}
		return out
	case tree.Number:
		return json.Number(n.Num)
	case tree.Bool:
		return n.Bool
	}
	return n.Str
}

// parts are the documents of a manifest, by kind.
func parts(t *testing.T, text string) map[string]*tree.Node {
	t.Helper()
	kinds := map[string]*tree.Node{}
	for _, doc := range strings.Split(text, "\n---\n") {
		n, problems := yamlx.Parse([]byte(doc), yamlx.Options{})
		if tree.Fatal(problems) {
			t.Fatalf("%v in %s", problems, doc)
		}
		if n.Get("apiVersion") == nil || n.Get("metadata").Get("name").Str != "obstat" {
			t.Errorf("%s has no name or version", n.Get("kind").Str)
		}
		kinds[n.Get("kind").Str] = n
	}
	return kinds
}

// TestDeployManifest: the manifest and the chart can be read, their parts fit together, and probes ask
// for routes that need no token.
func TestDeployManifest(t *testing.T) {
	for name, text := range manifests(t) {
		t.Run(name, func(t *testing.T) { fits(t, parts(t, text), name != "the chart alone") })
	}
}

func fits(t *testing.T, kinds map[string]*tree.Node, closed bool) {
	deployment, service, budget := kinds["Deployment"], kinds["Service"], kinds["PodDisruptionBudget"]
	if deployment == nil || service == nil || budget == nil {
		t.Fatalf("%v", kinds)
	}
	// A session of the Model Context Protocol lives in one replica: a client stays with it.
	if n := service.Get("spec").Get("sessionAffinity"); n == nil || n.Str != "ClientIP" {
		t.Error("clients do not stay with one replica")
	}
	if net := kinds["NetworkPolicy"]; (net != nil) != closed || closed && net.Get("spec").Get("ingress").Elems[0].Get("ports").Elems[0].Get("port").Num != "8470" {
		t.Error("other ports are open")
	}
	spec := deployment.Get("spec")
	if n := spec.Get("replicas").Num; n != "3" {
		t.Errorf("%s replicas", n)
	}
	label := spec.Get("template").Get("metadata").Get("labels").Get("app").Str
	for name, n := range map[string]*tree.Node{"the deployment": spec.Get("selector").Get("matchLabels"), "the service": service.Get("spec").Get("selector"), "the budget": budget.Get("spec").Get("selector").Get("matchLabels")} {
		if n.Get("app").Str != label {
			t.Errorf("%s selects %q, not %q", name, n.Get("app").Str, label)
		}
	}
	pod := spec.Get("template").Get("spec")
	c := pod.Get("containers").Elems[0]
	if env := c.Get("env").Elems[0]; env.Get("name").Str != "GOMEMLIMIT" || c.Get("resources").Get("limits").Get("memory").Str != "512Mi" || env.Get("value").Str != "460MiB" {
		t.Error("GOMEMLIMIT is not below the limit")
	}
	port := c.Get("ports").Elems[0].Get("name").Str
	if to := service.Get("spec").Get("ports").Elems[0].Get("targetPort").Str; to != port {
		t.Errorf("the service goes to %q, not %q", to, port)
	}
	for probe, path := range map[string]string{"readinessProbe": "/readyz", "livenessProbe": "/healthz"} {
		if get := c.Get(probe).Get("httpGet"); get.Get("path").Str != path || get.Get("port").Str != port || get.Get("scheme").Str != "HTTPS" {
			t.Errorf("%s asks for %s", probe, get.Get("path").Str)
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Get("volumes").Elems {
		volumes[v.Get("name").Str] = true
	}
	for _, m := range c.Get("volumeMounts").Elems {
		if !volumes[m.Get("name").Str] {
			t.Errorf("there is no volume %q", m.Get("name").Str)
		}
	}
}
