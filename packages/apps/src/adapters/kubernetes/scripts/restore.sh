#!/bin/sh
# Brings the etcd of a stopped server back to a snapshot, or discards the data of one that joins again. Needs no API server.
set -eu
. ./common.sh
mode=$2 name=$3 operation=$4
db=$data/server/db
done_mark=$own/restored

# A step that is done again must not throw away what was written since.
if [ "$(cat "$done_mark" 2>/dev/null || :)" = "$operation" ]; then
  echo "already restored by this operation"
  exit 0
fi
if [ "$mode" = discard ]; then
  [ ! -d "$db" ] || find "$db" -mindepth 1 -maxdepth 1 ! -name snapshots -exec rm -rf {} +
  printf '%s' "$operation" > "$done_mark"
  exit 0
fi
[ -s "$db/snapshots/$name" ] || {
  echo "error: expected a snapshot $name in $db/snapshots, found: $(ls -1 "$db/snapshots" 2>/dev/null | tr '\n' ' ')" >&2
  exit 61
}
hexadecimal=$(printf '%04X' 2379)
if awk -v port="$hexadecimal" '$4 == "0A" && substr($2, index($2, ":") + 1) == port { found = 1 } END { exit !found }' /proc/net/tcp; then
  echo "error: etcd still runs on this server; it must be stopped before a snapshot is restored" >&2
  exit 62
fi
# It would keep the program from a second reset.
rm -f "$db/reset-flag"
"$program" server --config "$config/config.yaml" --cluster-reset "--cluster-reset-restore-path=$db/snapshots/$name" || {
  echo "error: $program could not restore $name (exit code $?)" >&2
  exit 63
}
printf '%s' "$operation" > "$done_mark"
