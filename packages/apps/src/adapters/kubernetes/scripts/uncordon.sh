#!/bin/sh
# Lets a node take pods again, if the platform has drained it. Runs on a server.
set -eu
program=$1 node=$2
data=/var/lib/rancher/$program
PATH=/usr/local/bin:/opt/$program/bin:$PATH

kubectl() {
  set -- --kubeconfig "/etc/rancher/$program/$program.yaml" "$@"
  if [ -x "$data/bin/kubectl" ]; then "$data/bin/kubectl" "$@"; else "$program" kubectl "$@"; fi
}

kubectl --request-timeout 10s get --raw /readyz > /dev/null || { echo "error: the API of this server is not ready" >&2; exit 55; }
found=$(kubectl get node "$node" -o 'jsonpath={.spec.unschedulable} {.metadata.annotations.capstan\.dev/cordoned-by}')
case $found in
'true ')
  echo "error: somebody else has cordoned $node; lift it with kubectl uncordon $node" >&2
  exit 57
  ;;
'true '*) kubectl uncordon "$node" ;;
*) echo "$node takes pods already" ;;
esac
kubectl annotate node "$node" capstan.dev/cordoned-by-
