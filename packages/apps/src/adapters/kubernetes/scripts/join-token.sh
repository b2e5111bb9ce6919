#!/bin/sh
# Prints the token by which agents or servers join. It contains the hash of the authority of the cluster.
set -eu
program=$1 kind=$2
file=/var/lib/rancher/$program/server/token
[ "$kind" = server ] || file=/var/lib/rancher/$program/server/agent-token
if [ ! -s "$file" ]; then
  echo "error: the server has not written $file" >&2
  exit 45
fi
cat "$file"
