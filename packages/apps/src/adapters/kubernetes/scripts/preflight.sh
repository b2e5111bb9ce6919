#!/bin/sh
# Checks whether a node can become a member of a Kubernetes cluster, and prints who keeps its services running: systemd or agent.
set -eu
. ./common.sh
role=$2 instance=$3
shift 3

fail() {
  code=$1
  shift
  echo "error: $*" >&2
  exit "$code"
}

[ "$(uname -m)" = x86_64 ] || fail 25 "expected a node of the architecture x86_64, found $(uname -m)"

init=agent
[ ! -d /run/systemd/system ] || init=systemd

for other in rke2 k3s k0s; do
  [ "$other" != "$program" ] || continue
  for path in "/var/lib/rancher/$other/server" "/var/lib/rancher/$other/agent" "/var/lib/$other" \
    "/etc/systemd/system/$other-agent.service" "/etc/systemd/system/$other.service" "/usr/local/lib/systemd/system/$other-server.service"; do
    [ ! -e "$path" ] || fail 20 "this node has another Kubernetes already: $path exists"
  done
done
if [ "$program" = kubeadm ]; then
  marks="$config/admin.conf $config/kubelet.conf $tls $config/manifests/etcd.yaml /var/lib/etcd/member $data/config.yaml"
  command -v ctr > /dev/null && [ -S /run/containerd/containerd.sock ] ||
    fail 26 "kubeadm needs containerd on the node: expected the program ctr and the socket /run/containerd/containerd.sock"
else
  marks="$config/config.yaml $data/server $data/agent/kubelet.kubeconfig /etc/rancher/node/password"
  [ ! -e /etc/kubernetes/kubelet.conf ] || fail 20 "this node has a kubelet already: /etc/kubernetes/kubelet.conf exists"
fi

# The program that has a socket open, by the number of the socket.
owner() {
  for descriptor in /proc/[0-9]*/fd/*; do
    [ "$(readlink "$descriptor" 2>/dev/null)" = "socket:[$1]" ] || continue
    folder=${descriptor%/fd/*}
    echo "$(tr '\0' ' ' < "$folder/cmdline" | cut -c 1-100)(process ${folder#/proc/})"
    return
  done
  echo 'a program of another namespace'
}

present=$(cat "$own/instance" 2>/dev/null || :)
if [ "$present" != "$instance" ]; then
  for path in $marks "$own/instance"; do
    [ ! -e "$path" ] || fail 23 "this node has files of an earlier cluster: $path; decommission that instance, or let the fleet clean the node"
  done
  for port in "$@"; do
    hexadecimal=$(printf '%04X' "$port")
    # 0A is the state of sockets that listen.
    socket=$(awk -v port="$hexadecimal" '$4 == "0A" && substr($2, index($2, ":") + 1) == port { print $10; exit }' \
      /proc/net/tcp $([ ! -e /proc/net/tcp6 ] || echo /proc/net/tcp6))
    [ -z "$socket" ] || fail 21 "the $role needs the port $port, but $(owner "$socket") listens on it; stop it, and retry"
  done
fi

# The files and the images of a release.
needed=2097152
available=$(df -Pk /var/lib | awk 'NR == 2 { print $4 }')
[ "$present" = "$instance" ] || [ "$available" -ge "$needed" ] ||
  fail 27 "expected $((needed / 1024)) MiB of free space in /var/lib, found $((available / 1024)) MiB; free some, and retry"

awk '$2 == "00000000" && $8 == "00000000" { found = 1 } END { exit !found }' /proc/net/route ||
  { [ -e /proc/net/ipv6_route ] && grep -q '^0\{32\} 00 ' /proc/net/ipv6_route; } ||
  fail 22 "this node has no default route, which Kubernetes needs to find its own address"

if [ "$init" = systemd ]; then
  ! systemctl is-active --quiet firewalld 2>/dev/null || fail 24 "firewalld runs on this node and would block the traffic of pods; stop and disable it"
  if systemctl is-active --quiet NetworkManager 2>/dev/null && [ ! -e /etc/NetworkManager/conf.d/capstan-kubernetes.conf ]; then
    printf '[keyfile]\nunmanaged-devices=interface-name:cali*;interface-name:flannel*;interface-name:cni0\n' \
      > /etc/NetworkManager/conf.d/capstan-kubernetes.conf
    systemctl reload NetworkManager > /dev/null 2>&1 || :
  fi
  # Nodes with many GPUs and pods run out of the defaults.
  if [ "$(cat /proc/sys/fs/inotify/max_user_instances)" -lt 8192 ]; then
    printf 'fs.inotify.max_user_instances=8192\nfs.inotify.max_user_watches=524288\n' > /etc/sysctl.d/90-capstan-kubernetes.conf
    sysctl -q -p /etc/sysctl.d/90-capstan-kubernetes.conf > /dev/null 2>&1 || :
  fi
fi

umask 077
if [ "$program" = kubeadm ]; then
  mkdir -p "$own" "$config/patches"
  # The machine may have networks of containers of its own.
  [ -e "$own/networks.before" ] || ls -A /etc/cni/net.d 2>/dev/null > "$own/networks.before" || :
else
  mkdir -p "$own" "$config/config.yaml.d" "$data/agent/images"
fi
# The script `wait` removes the mark when the API is ready for the first time.
[ "$role-$present" != server- ] || : > "$own/forming"
printf '%s' "$instance" > "$own/instance"
echo "$init"
