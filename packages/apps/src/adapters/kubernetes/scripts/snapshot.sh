#!/bin/sh
# Saves a snapshot of etcd on a server, and prints the name of its file.
set -eu
. ./common.sh
name=$2
folder=$data/server/db/snapshots
output=$(mktemp)
trap 'rm -f "$output"' EXIT
if ! "$program" etcd-snapshot save --name "$name" > "$output" 2>&1; then
  cat "$output" >&2
  echo "error: $program could not save a snapshot" >&2
  exit 60
fi
file=$(ls -1t "$folder" | grep "^$name-" | head -n 1) || :
[ -n "$file" ] || { cat "$output" >&2; echo "error: there is no new file in $folder" >&2; exit 60; }
echo "$file"
