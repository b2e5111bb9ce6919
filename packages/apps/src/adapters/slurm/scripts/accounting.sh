#!/bin/sh
# Waits for the accounting, and registers the cluster and its users. Arguments: the name of the cluster, then its users. Exit code 41: the accounting does not answer.
set -eu
cluster=$1
shift
tries=0
until timeout 5 sacctmgr --noheader --parsable2 show cluster > /dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -ge 60 ]; then
    echo "error: slurmdbd does not answer; the end of its log: $(tail -n 5 /var/log/slurm/slurmdbd.log 2> /dev/null)" >&2
    exit 41
  fi
  sleep 0.5
done
has() { sacctmgr --noheader --parsable2 show "$@" | grep -q .; }
has cluster "$cluster" || sacctmgr --immediate add cluster "$cluster"
has account users || sacctmgr --immediate add account users description=users organization=users
for user; do
  has user "$user" || sacctmgr --immediate add user "$user" account=users
done
