#!/bin/sh
# Waits for the accounting, and registers the cluster and its users. Arguments: the name of the cluster, then its users. Exit code 41: the accounting does not answer.
set -eu
. ./common.sh
cluster=$1
shift
tries=0
until timeout 5 sacctmgr --noheader --parsable2 show cluster > /dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 60 ] || fail 41 "slurmdbd does not answer; its log, $logs/slurmdbd.log, ends with: $(complaint slurmdbd)"
  sleep 0.5
done
has() { sacctmgr --noheader --parsable2 show "$@" | grep -q .; }
has cluster "$cluster" || sacctmgr --immediate add cluster "$cluster"
has account users || sacctmgr --immediate add account users description=users organization=users
for user; do
  has user "$user" || sacctmgr --immediate add user "$user" account=users
done
