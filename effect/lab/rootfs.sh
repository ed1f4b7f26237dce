#!/bin/sh
# Makes the root directory that the lab runs programs in: a small Debian with the packages of
# packages.txt. Needs root, debootstrap and Debian's registry; takes some minutes and 4 GB.
#
#   sh effect/lab/rootfs.sh DIR
set -eu
root=${1:?the directory to make}
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "rootfs.sh: debootstrap needs root"; exit 1; }
missing=
for tool in debootstrap bwrap strace; do command -v $tool >/dev/null || missing=1; done
if [ -n "$missing" ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap bubblewrap strace
fi
[ -d "$root/usr" ] || debootstrap --variant=minbase bookworm "$root" >/dev/null
rm -f "$root/etc/apt/sources.list"
cp -r /etc/apt/sources.list.d/. "$root/etc/apt/sources.list.d/"
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp /etc/resolv.conf "$root/etc/"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/lab"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # starts no service
chmod +x "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/home/u" "$root/.trace"
export DEBIAN_FRONTEND=noninteractive
# Some packages need /proc to be set up. It is mounted for the command alone.
inside() { unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"; }
inside apt-get update -qq
inside dpkg --configure -a >/dev/null 2>&1 || true # what an earlier run was cut off in
install() { inside apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
install bash git strace procps
total=$(grep -vc '^#' "$here/packages.txt")
done=0
grep -v '^#' "$here/packages.txt" | xargs -n 15 | while read -r batch; do
	# Packages that cannot be had together are tried one by one.
	install $batch || for one in $batch; do install "$one" || echo "not installed: $one"; done
	done=$((done + $(echo "$batch" | wc -w)))
	echo "packages: $done of $total"
done
echo "nameserver 192.0.2.53" >"$root/etc/resolv.conf" # for what is run there later, which nobody answers
