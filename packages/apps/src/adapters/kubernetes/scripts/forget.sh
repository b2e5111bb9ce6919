#!/bin/sh
# Deletes a node from the cluster with the password by which the cluster knows it, or the etcd member of a server. Runs on a server.
set -eu
. ./common.sh
node=$2 part=$3

wait_for_api || { echo "error: the API of this server is not ready" >&2; exit 55; }
if [ "$part" = etcd ] && [ "$program" = kubeadm ]; then
  # On the server that leaves. A failure is only a warning to kubeadm.
  output=$(kubeadm reset phase remove-etcd-member 2>&1) || output="Failed to remove etcd member: $output"
  echo "$output"
  case $output in
  *'Failed to remove etcd member'*)
    echo "error: the etcd member of $node is still there" >&2
    exit 58
    ;;
  esac
  exit 0
fi
if [ "$part" = etcd ]; then
  [ -n "$(kubeadmin get node "$node" --ignore-not-found -o name)" ] || exit 0
  kubeadmin annotate node "$node" --overwrite "etcd.$program.cattle.io/remove=true"
  for attempt in $(seq 120); do
    removed=$(kubeadmin get node "$node" -o "jsonpath={.metadata.annotations.etcd\\.$program\\.cattle\\.io/removed-node-name}" 2>/dev/null || :)
    [ -z "$removed" ] || exit 0
    sleep 1
  done
  echo "error: the etcd member of $node is still there after $attempt s; the others may have no quorum without it" >&2
  exit 58
fi
kubeadmin delete node "$node" --ignore-not-found --timeout 60s || { echo "error: the node $node could not be deleted from the cluster" >&2; exit 59; }
[ "$program" != kubeadm ] || exit 0
kubeadmin --namespace kube-system delete secret "$node.node-password.$program" --ignore-not-found ||
  { echo "error: the password of $node could not be deleted from the cluster" >&2; exit 59; }
