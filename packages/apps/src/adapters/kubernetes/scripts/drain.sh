#!/bin/sh
# Moves the pods of a node elsewhere, and notes that the platform did so. Runs on a server.
set -eu
program=$1 node=$2 operation=$3 seconds=$4
data=/var/lib/rancher/$program
PATH=/usr/local/bin:/opt/$program/bin:$PATH

kubectl() {
  set -- --kubeconfig "/etc/rancher/$program/$program.yaml" "$@"
  if [ -x "$data/bin/kubectl" ]; then "$data/bin/kubectl" "$@"; else "$program" kubectl "$@"; fi
}

kubectl --request-timeout 10s get --raw /readyz > /dev/null || { echo "error: the API of this server is not ready" >&2; exit 55; }
found=$(kubectl get node "$node" --ignore-not-found -o 'jsonpath={.metadata.name} {.spec.unschedulable}')
[ -n "$found" ] || { echo "the cluster has no node $node"; exit 0; }
# A cordon that somebody else has set stays theirs.
[ "$found" = "$node true" ] || kubectl annotate node "$node" --overwrite "capstan.dev/cordoned-by=$operation"
kubectl cordon "$node"
kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --force --timeout "${seconds}s" || {
  echo "These pods are left:"
  kubectl get pods --all-namespaces --field-selector "spec.nodeName=$node" -o wide || :
  kubectl get poddisruptionbudgets --all-namespaces || :
  echo "error: not all pods of $node could be evicted within $seconds s" >&2
  exit 56
}
