{ lib, stdenvNoCC, fetchurl, installShellFiles }:

let
  sources = {
    x86_64-linux = { url = "{{(at "linux_amd64").URL}}"; sha256 = "{{(at "linux_amd64").SHA256}}"; };
    aarch64-linux = { url = "{{(at "linux_arm64").URL}}"; sha256 = "{{(at "linux_arm64").SHA256}}"; };
    x86_64-darwin = { url = "{{(at "darwin_amd64").URL}}"; sha256 = "{{(at "darwin_amd64").SHA256}}"; };
    aarch64-darwin = { url = "{{(at "darwin_arm64").URL}}"; sha256 = "{{(at "darwin_arm64").SHA256}}"; };
  };
in
stdenvNoCC.mkDerivation {
  pname = "{{.Name}}";
  version = "{{.Version}}";
  src = fetchurl sources.${stdenvNoCC.hostPlatform.system};
  nativeBuildInputs = [ installShellFiles ];
  installPhase = ''
    install -Dm755 {{.Name}} $out/bin/{{.Name}}
    installManPage man/*.1
  '';
  meta = {
    description = "{{.Summary}}";
    homepage = "{{.Homepage}}";
    license = lib.licenses.asl20;
    platforms = builtins.attrNames sources;
    mainProgram = "{{.Name}}";
  };
}
