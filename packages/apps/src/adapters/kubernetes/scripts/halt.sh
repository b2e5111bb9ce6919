#!/bin/sh
# Ends the pods and all programs of the cluster, with the script of RKE2 or k3s. The data stays.
set -eu
. ./common.sh
if [ "$program" = kubeadm ]; then
  for signal in TERM TERM KILL KILL; do
    left=$(pod_processes)
    [ -n "$left" ] || break
    kill "-$signal" $left 2>/dev/null || :
    sleep 1
  done
elif command -v "$program-killall.sh" > /dev/null; then
  "$program-killall.sh"
else
  echo "$program-killall.sh is not installed; nothing to do"
fi
