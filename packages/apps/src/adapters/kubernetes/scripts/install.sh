#!/bin/sh
# Installs RKE2 or k3s from files that are on the node already. Nothing is downloaded, and nothing is started.
set -eu
program=$1 role=$2 version=$3
own=/var/lib/capstan-apps/$program
PATH=/usr/local/bin:/opt/$program/bin:$PATH

fail() {
  code=$1
  shift
  echo "error: $*" >&2
  exit "$code"
}

need() {
  [ -f "$1" ] || fail 30 "$1 is missing; the version $version of the catalog needs the artifact $(basename "$1")"
}

reported() {
  "$program" --version 2>/dev/null | sed -n '1s/^.* version \([^ ]*\).*$/\1/p'
}

need "$own/install.sh"
case $program in
rke2)
  need "$own/rke2.linux-amd64.tar.gz"
  need "$own/sha256sum-amd64.txt"
  [ -d /run/systemd/system ] || export INSTALL_RKE2_SKIP_RELOAD=true
  INSTALL_RKE2_ARTIFACT_PATH=$own INSTALL_RKE2_TYPE=$role INSTALL_RKE2_METHOD=tar sh "$own/install.sh" ||
    fail 31 "the installer of rke2 failed with exit code $?"
  ;;
k3s)
  need /usr/local/bin/k3s
  chmod 755 /usr/local/bin/k3s
  # It also knows OpenRC, but refuses machines that have neither.
  if command -v systemctl > /dev/null || [ -x /sbin/openrc-run ]; then
    INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_SKIP_START=true INSTALL_K3S_SKIP_ENABLE=true INSTALL_K3S_SKIP_SELINUX_RPM=true \
      INSTALL_K3S_EXEC=$role sh "$own/install.sh" || fail 31 "the installer of k3s failed with exit code $?"
  fi
  ;;
esac

# The node agent runs this where systemd does not.
service='$program-$1'
[ "$program" != k3s ] || service='$([ "$1" = agent ] && echo k3s-agent || echo k3s)'
cat > "$own/service" << END
#!/bin/sh
program=$program
PATH=/usr/local/bin:/opt/$program/bin:\$PATH
exec "\$program" "\$1" --config "/etc/rancher/\$program/config.yaml" >> "/var/log/$service.log" 2>&1
END
chmod 755 "$own/service"

found=$(reported)
[ -n "$found" ] || fail 31 "$program does not run on this node"
case $version in
v[0-9]*) [ "$found" = "$version" ] || fail 32 "expected $program $version, found $found; the artifacts of the catalog belong to another version" ;;
esac
echo "installed $program $found"
