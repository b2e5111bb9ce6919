#!/bin/sh
# Makes a node the first one of a cluster, or a member of one, with kubeadm. The kubelet waits for its files by then.
set -eu
. ./common.sh
role=$2 instance=$3
mark=$own/formed

fail() {
  code=$1
  shift
  echo "error: $*" >&2
  exit "$code"
}

apply_network() {
  [ -f "$own/network.yaml" ] || return 0
  kubeadmin --request-timeout 60s apply -f "$own/network.yaml" || fail 48 "the cluster did not accept network.yaml of the version"
}

if [ "$(cat "$mark" 2>/dev/null || :)" = "$instance" ] && [ -s "$member" ] && [ -s "$data/config.yaml" ]; then
  if [ "$role" = server ]; then
    [ -s "$config/manifests/etcd.yaml" ] || kubeadm init phase etcd local --config "$own/config.yaml" || fail 46 "kubeadm could not write the manifest of etcd"
    for part in apiserver controller-manager scheduler; do
      [ -s "$config/manifests/kube-$part.yaml" ] || kubeadm init phase control-plane "$part" --config "$own/config.yaml" ||
        fail 46 "kubeadm could not write the manifest of kube-$part"
    done
  fi
  echo "this node is a member already"
  exit 0
fi

# An earlier try was cut off before it was done, so nothing that is worth keeping is lost.
if [ -e "$config/kubelet.conf" ] || [ -e "$config/bootstrap-kubelet.conf" ] || [ -e "$tls/ca.crt" ] || [ -e /var/lib/etcd/member ]; then
  echo "undoing an attempt that was cut off"
  kubeadm reset --force --cri-socket unix:///run/containerd/containerd.sock || fail 49 "kubeadm could not undo an earlier attempt"
fi
rm -f "$mark"

output=$(mktemp)
trap 'rm -f "$output"' EXIT
if [ "$role" = server ] && ! grep -q '"kind": "JoinConfiguration"' "$own/config.yaml"; then
  kubeadm init --config "$own/config.yaml" > "$output" 2>&1 || {
    code=$?
    grep -v -e --token -e '[a-z0-9]\{6\}\.[a-z0-9]\{16\}' "$output" || :
    tail -n 40 /var/log/kubelet.log 2>/dev/null || :
    fail 46 "kubeadm init failed with exit code $code"
  }
  apply_network
else
  kubeadm join --config "$own/config.yaml" > "$output" 2>&1 || {
    code=$?
    cat "$output"
    tail -n 40 /var/log/kubelet.log 2>/dev/null || :
    case $(cat "$output") in
    *'JWS signature'* | *'are pinned'* | *Unauthorized*) fail 44 "the server does not accept the token of this member; repair it" ;;
    esac
    fail 47 "kubeadm join failed with exit code $code"
  }
fi
printf '%s' "$instance" > "$mark"
echo "this node is a member"
