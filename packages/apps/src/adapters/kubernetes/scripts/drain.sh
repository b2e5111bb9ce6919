#!/bin/sh
# Moves the pods of a node elsewhere, and notes that the platform did so. Runs on a server.
set -eu
. ./common.sh
node=$2 operation=$3 seconds=$4

wait_for_api || { echo "error: the API of this server is not ready" >&2; exit 55; }
found=$(kubeadmin get node "$node" --ignore-not-found -o 'jsonpath={.metadata.name} {.spec.unschedulable}')
[ -n "$found" ] || { echo "the cluster has no node $node"; exit 0; }
# A cordon that somebody else has set stays theirs.
[ "$found" = "$node true" ] || kubeadmin annotate node "$node" --overwrite "capstan.dev/cordoned-by=$operation"
kubeadmin cordon "$node"
kubeadmin drain "$node" --ignore-daemonsets --delete-emptydir-data --force --timeout "${seconds}s" || {
  echo "These pods are left:"
  kubeadmin get pods --all-namespaces --field-selector "spec.nodeName=$node" -o wide || :
  kubeadmin get poddisruptionbudgets --all-namespaces || :
  echo "error: not all pods of $node could be evicted within $seconds s" >&2
  exit 56
}
