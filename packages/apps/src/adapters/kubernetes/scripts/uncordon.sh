#!/bin/sh
# Lets a node take pods again, if the platform has drained it. Runs on a server.
set -eu
. ./common.sh
node=$2

wait_for_api || { echo "error: the API of this server is not ready" >&2; exit 55; }
found=$(kubeadmin get node "$node" -o 'jsonpath={.spec.unschedulable} {.metadata.annotations.capstan\.dev/cordoned-by}')
case $found in
'true ')
  echo "error: somebody else has cordoned $node; lift it with kubectl uncordon $node" >&2
  exit 57
  ;;
'true '*) kubeadmin uncordon "$node" ;;
*) echo "$node takes pods already" ;;
esac
kubeadmin annotate node "$node" capstan.dev/cordoned-by-
