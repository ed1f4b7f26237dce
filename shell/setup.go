package shell

import (
	"path"
	"slices"
	"strings"
)

// PrintsSetup reports whether a word as it is written stands for what a program prints to be set up in a shell, as
// `"$(ssh-agent -s)"` and `<(kubectl completion bash)` do. That is code of the program, which runs anyway; it sets variables and
// functions, and leaves the directory. Nobody else may look at the script meanwhile.
func (s *Script) PrintsSetup(raw string) bool {
	text := strings.Trim(raw, `"`)
	if !strings.HasPrefix(text, "$(") && !strings.HasPrefix(text, "<(") || !strings.HasSuffix(text, ")") {
		return false
	}
	text = strings.TrimSuffix(text[2:len(text)-1], " 2>/dev/null")
	if strings.Trim(text, setupLetters) != "" {
		return false
	}
	args := strings.Fields(text)
	if len(args) == 0 || !printsSetup(args) || definesFunction(s.Source, args[0]) {
		return false
	}
	for _, word := range [...]string{"function", "alias", "ALIASES", "hash", "enable", "PATH="} {
		if strings.Contains(s.Source, word) {
			return false
		}
	}
	for _, rest := range strings.Split(s.Source, "_ROOT=")[1:] { // `PYENV_ROOT=$PWD`, whose shims would be found first
		if rest = strings.TrimLeft(rest, `"`); !strings.HasPrefix(rest, "$HOME/.") && !strings.HasPrefix(rest, "~/.") {
			return false
		}
	}
	return true
}

// PrintsSetup reports whether a command is one of those that print code for a shell, see [Script.PrintsSetup].
func PrintsSetup(words []Word) bool {
	args := make([]string, 0, len(words))
	for i := range words {
		args = append(args, words[i].Text)
	}
	return len(args) > 0 && printsSetup(args)
}

const setupLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._- "

// printsSetup reports whether a command is one of those that print code for a shell.
func printsSetup(args []string) bool {
	shell := func(at int) bool {
		return at == len(args)-1 && slices.Contains([]string{"bash", "zsh", "sh", "-"}, args[at])
	}
	switch args[0] {
	case "kubectl", "helm", "gh", "docker", "minikube", "kind", "k3d", "argocd", "flux", "istioctl", "oc", "eksctl", "doctl", "kustomize", "npm", "pnpm", "glab", "golangci-lint":
		return len(args) > 1 && args[1] == "completion" && (len(args) == 2 || shell(2)) || args[0] == "gh" && strings.Join(args[1:], " ") == "completion -s bash" || args[0] == "minikube" && strings.Join(args[1:], " ") == "docker-env"
	case "rustup", "deno", "poetry":
		return len(args) > 1 && args[1] == "completions" && shell(2)
	case "uv", "uvx":
		return len(args) > 1 && args[1] == "generate-shell-completion" && shell(2)
	case "pyenv", "rbenv", "nodenv", "goenv", "jenv", "starship", "zoxide", "atuin":
		return len(args) > 1 && (args[1] == "init" || args[1] == "virtualenv-init") && (shell(2) || args[len(args)-1] == "--path" || args[len(args)-1] == "-" || len(args) == 4 && shell(3) && args[2] == "-")
	case "direnv":
		return len(args) > 1 && args[1] == "hook" && shell(2)
	case "mise":
		return len(args) > 1 && args[1] == "activate" && shell(2)
	case "conda", "mamba":
		return strings.Join(args[1:], " ") == "shell.bash hook" || strings.Join(args[1:], " ") == "shell.posix hook"
	case "ssh-agent", "dircolors":
		return len(args) == 1 || len(args) == 2 && (args[1] == "-s" || args[1] == "-b")
	case "brew":
		return len(args) == 2 && args[1] == "shellenv"
	case "opam", "fnm":
		return len(args) > 1 && args[1] == "env" && (len(args) == 2 || len(args) == 3 && args[2] == "--use-on-cd")
	}
	return false
}

// StaysHere reports whether a file that is sourced is one of those that every tool of its kind has, which set variables and
// functions and leave the directory: `.venv/bin/activate`.
func StaysHere(file string) bool {
	dir, name := path.Split(file)
	switch name {
	case "activate":
		return strings.HasSuffix(dir, "bin/")
	case "nvm.sh", "asdf.sh", "conda.sh", "sdkman-init.sh":
		return true
	case "env":
		return strings.HasSuffix(dir, ".cargo/")
	}
	return false
}
