#!/bin/sh
# Installs RKE2, k3s or the programs of kubeadm from files that are on the node already. Nothing is downloaded, and nothing is started.
set -eu
. ./common.sh
role=$2 version=$3

fail() {
  code=$1
  shift
  echo "error: $*" >&2
  exit "$code"
}

need() {
  [ -f "$1" ] || fail 30 "$1 is missing; the version $version of the catalog needs the artifact $(basename "$1")"
}

# The node agent runs this where systemd does not.
launcher() {
  cat > "$own/service"
  chmod 755 "$own/service"
}

# An etcd that is killed before it has stored its first entries never has a leader again. As long as the API of a new cluster has not been ready, nothing is lost if it begins anew. A
# server that joins others has nothing of its own to begin with.
guard_bootstrap() {
  cat > "$own/before-start" << END
#!/bin/sh
[ "\$1" = server ] && [ -e "$own/forming" ] && [ -d "$data/server/db/etcd" ] || exit 0
! grep -q '^server:' "$config/config.yaml" || exit 0
# 094B is the port 2379 of etcd, and 0A the state of sockets that listen.
! awk '\$4 == "0A" && \$2 ~ /:094B\$/ { found = 1 } END { exit !found }' /proc/net/tcp || exit 0
echo 'an earlier start was cut off before the cluster was ready; beginning anew'
rm -rf "$data/server/db/etcd"
END
  chmod 755 "$own/before-start"
  [ -d /run/systemd/system ] && [ "$role" = server ] || return 0
  unit=$program
  [ "$program" = k3s ] || unit=$program-server
  mkdir -p "/etc/systemd/system/$unit.service.d"
  printf '[Service]\nExecStartPre=-%s server\n' "$own/before-start" > "/etc/systemd/system/$unit.service.d/capstan.conf"
  systemctl daemon-reload
}

launch_program() {
  service='$program-$1'
  [ "$program" != k3s ] || service='$([ "$1" = agent ] && echo k3s-agent || echo k3s)'
  launcher << END
#!/bin/sh
program=$program
PATH=/usr/local/bin:/opt/$program/bin:\$PATH
exec >> "/var/log/$service.log" 2>&1
"$own/before-start" "\$1" || :
exec "\$program" "\$1" --config "$config/config.yaml"
END
}

# kubeadm starts no kubelet without systemd, so this waits until kubeadm has written its files.
launch_kubelet() {
  launcher << END
#!/bin/sh
PATH=$own/bin:\$PATH
[ -d /run/systemd/system ] || exec >> /var/log/kubelet.log 2>&1
until [ -s $data/config.yaml ] && [ -s $data/kubeadm-flags.env ] && { [ -s $member ] || [ -s $config/bootstrap-kubelet.conf ]; }; do sleep 1; done
. $data/kubeadm-flags.env
exec kubelet --bootstrap-kubeconfig=$config/bootstrap-kubelet.conf --kubeconfig=$member --config=$data/config.yaml \$KUBELET_KUBEADM_ARGS
END
  # kubeadm assumes systemd.
  if [ ! -d /run/systemd/system ]; then
    printf 'cgroupDriver: cgroupfs\n' > "$config/patches/kubeletconfiguration0+merge.yaml"
    return
  fi
  cat > /etc/systemd/system/kubelet.service << END
[Unit]
Description=kubelet of a cluster that Capstan has deployed
Wants=network-online.target
After=network-online.target containerd.service
[Service]
ExecStart=$own/service
Restart=always
RestartSec=10
[Install]
WantedBy=multi-user.target
END
  systemctl daemon-reload
}

# Images that were not there before are removed with the instance.
import_images() {
  need "$own/images.tar"
  ctr --namespace k8s.io images list --quiet | sort > "$own/images.before" || fail 31 "containerd does not answer"
  # Not unpacked: containerd does that later, with the snapshotter of its own settings.
  for archive in images.tar device-plugin-images.tar; do
    [ ! -f "$own/$archive" ] || ctr --namespace k8s.io images import --no-unpack "$own/$archive" || fail 31 "containerd could not import $archive"
  done
  ctr --namespace k8s.io images list --quiet | sort | comm -13 "$own/images.before" - >> "$own/images.imported"
}

case $program in
rke2)
  need "$own/install.sh"
  need "$own/rke2.linux-amd64.tar.gz"
  need "$own/sha256sum-amd64.txt"
  [ -d /run/systemd/system ] || export INSTALL_RKE2_SKIP_RELOAD=true
  INSTALL_RKE2_ARTIFACT_PATH=$own INSTALL_RKE2_TYPE=$role INSTALL_RKE2_METHOD=tar sh "$own/install.sh" ||
    fail 31 "the installer of rke2 failed with exit code $?"
  guard_bootstrap
  launch_program
  ;;
k3s)
  need "$own/install.sh"
  need /usr/local/bin/k3s
  chmod 755 /usr/local/bin/k3s
  # It also knows OpenRC, but refuses machines that have neither.
  if command -v systemctl > /dev/null || [ -x /sbin/openrc-run ]; then
    INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_SKIP_START=true INSTALL_K3S_SKIP_ENABLE=true INSTALL_K3S_SKIP_SELINUX_RPM=true \
      INSTALL_K3S_EXEC=$role sh "$own/install.sh" || fail 31 "the installer of k3s failed with exit code $?"
  fi
  guard_bootstrap
  launch_program
  ;;
kubeadm)
  for name in kubeadm kubelet kubectl; do need "$own/bin/$name"; done
  import_images
  launch_kubelet
  ;;
esac

found=$(reported_version)
[ -n "$found" ] || fail 31 "$program does not run on this node"
case $version in
v[0-9]*) [ "$found" = "$version" ] || fail 32 "expected $program $version, found $found; the artifacts of the catalog belong to another version" ;;
esac
echo "installed $program $found"
