package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
	args := regexp.MustCompile(`(?m)^ *args: (\[.*\])$`).FindStringSubmatch(deployFile(t, "kubernetes.yaml"))
	if unit == nil || entry == nil || args == nil {
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
	for name, words := range map[string][]string{"obstat.service": strings.Fields(unit[1]), "Containerfile": image[2:], "kubernetes.yaml": append(image[2:], list(args[1])...)} {
		cmd := newServe(newFactory(&IO{}))
		if err := cmd.ParseFlags(words); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if rest := cmd.Flags().Args(); len(rest) > 0 {
			t.Errorf("%s: %q is no flag", name, rest)
		}
	}
}

// TestDeployManifest: the manifest can be read, its parts fit together, and probes ask
// for routes that need no token.
func TestDeployManifest(t *testing.T) {
	kinds := map[string]*tree.Node{}
	for _, doc := range strings.Split(deployFile(t, "kubernetes.yaml"), "\n---\n") {
		n, problems := yamlx.Parse([]byte(doc), yamlx.Options{})
		if tree.Fatal(problems) {
			t.Fatalf("%v", problems)
		}
		if n.Get("apiVersion") == nil || n.Get("metadata").Get("name").Str != "obstat" {
			t.Errorf("%s has no name or version", n.Get("kind").Str)
		}
		kinds[n.Get("kind").Str] = n
	}
	deployment, service, budget := kinds["Deployment"], kinds["Service"], kinds["PodDisruptionBudget"]
	if deployment == nil || service == nil || budget == nil {
		t.Fatalf("%v", kinds)
	}
	// A session of the Model Context Protocol lives in one replica: a client stays with it.
	if n := service.Get("spec").Get("sessionAffinity"); n == nil || n.Str != "ClientIP" {
		t.Error("clients do not stay with one replica")
	}
	if !strings.Contains(deployFile(t, "helm/obstat/templates/all.yaml"), "\n  sessionAffinity: ClientIP\n") {
		t.Error("clients do not stay with one replica of the chart")
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
