"""An agent's custom profile, after Chorus's page "Permission Profiles"."""

from obstat_sdk.adapters.chorus import PermissionEngine, PermissionProfile

profile = PermissionProfile(
    allow=["tool:view:.*", "tool:create_file:docs/.*", "tool:bash:npm .*", "tool:git:push origin (?!main).*"],
    ask=["tool:bash:.*", "tool:create_file:.*"],
)
engine = PermissionEngine()
for action in (
    "tool:view:README.md",
    "tool:create_file:docs/a.md",
    "tool:create_file:src/a.py",
    "tool:bash:npm test",
    "tool:bash:npm i; rm -rf x",
    "tool:git:push origin dev",
    "tool:git:push origin main",
    "tool:git:push origin HEAD:main",
):
    print(action, "->", engine.check(profile, action).value)
