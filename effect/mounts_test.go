package effect

import (
	"slices"
	"testing"
)

// What a command in a container does to a directory that it is given, it does on this machine.
func TestMounts(t *testing.T) {
	for c, want := range map[string]string{
		"docker run -v .:/a img cat /a/x":                                  "/home/user/project/x",
		"docker run -v /srv/d:/a:ro img cat /a/b/../x":                     "/srv/d/x",
		"docker run -v ~/.ssh:/k img cat /k/id":                            "/home/user/.ssh/id",
		"docker run --mount type=bind,source=/srv,target=/a img cat /a/x":  "/srv/x",
		"docker run -v /srv:/a -w /a/b img cat x":                          "/srv/b/x",
		"docker run -v /srv:/a img sh -c 'cd /a && cat x'":                 "/srv/x",
		"docker run -v /srv:/a img cat x":                                  "/srv/x", // the image may work there
		"docker run -v /:/host img cat /host/etc/x":                        "/etc/x",
		"podman run --volume=/srv:/a img sh -c 'cat < /a/x'":               "/srv/x",
		"docker run -v /srv:/a img rm -r /":                                "/srv",
		"docker run -v /srv:/a -v /opt:/b img cat /b/x":                    "/opt/x",
		"docker compose run -v /srv:/a web cat /a/x":                       "/srv/x",
		"docker run -v /srv:/a -w /a img sh -c 'find . | xargs cat'":       "/srv",
		"docker run -v /srv:/a/b -w /a/c img sh -c 'cat ../?/x'":           "/srv/x",
		"docker run -v /srv:/a img sh -c 'cat /*/x'":                       "/srv/x",
		"docker run -v /srv:/a img sh -c 'cat /[b-z]/x'":                   "",
		"docker run -v vol:/a img cat /a/x":                                "",
		"docker run -v /srv:/a img cat /b/x":                               "",
		"docker run -v /srv:/ab img cat /a/x":                              "",
		"docker run img cat /etc/x":                                        "",
		"docker run --mount type=tmpfs,dst=/a img cat /a/x":                "",
		"docker run --mount type=volume,source=vol,target=/a img cat /a/x": "",
	} {
		an := AnalyzeCommand(c, testOptions())
		here := func(e Effect) bool {
			return e.Where == "" && e.Command > 0 && (e.Kind == Read || e.Kind == Delete) && (want == "" || e.Path == want)
		}
		if slices.ContainsFunc(an.Effects, here) != (want != "") {
			t.Errorf("%s: %+v", c, an.Effects)
		}
	}
	for _, c := range []string{`docker run -v "$d:/a" img cat /a/x`, `docker run -v "$d" img cat /a/x`, `docker run -v .:/a img cat "$f"`} {
		an := AnalyzeCommand(c, testOptions())
		if !slices.ContainsFunc(an.Effects, func(e Effect) bool { return e.Where == "" && e.Kind == Read && e.Target().Marked() }) {
			t.Errorf("%s: %+v", c, an.Effects)
		}
	}
}
