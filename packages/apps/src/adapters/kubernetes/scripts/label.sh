#!/bin/sh
# Gives nodes of the cluster the label of their member, in pairs of a node and a member. Runs on a server.
set -eu
. ./common.sh
shift
while [ $# -gt 1 ]; do
  kubeadmin --request-timeout 20s label node "$1" "capstan.dev/member=$2" --overwrite || { echo "error: the node $1 could not be labelled" >&2; exit 64; }
  shift 2
done
