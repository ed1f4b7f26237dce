// Package copilot reads the approvals of GitHub Copilot: those of VS Code, `chat.tools.terminal.autoApprove` and its
// like in `.vscode/settings.json` and the user's settings, and those of Copilot CLI, `allowedUrls` and `deniedUrls` in
// `.github/copilot/settings.json`.
//
// It owns their notation and where the files are: VS Code by its documents, Copilot CLI by `copilot help permissions`
// and `copilot help config` of its version 1.0.102. The meaning of a rule is package claudecode's. Settings that
// approve everything are not taken over, and neither are trusted folders, which are no rules.
package copilot
