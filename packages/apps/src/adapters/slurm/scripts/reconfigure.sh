#!/bin/sh
# Waits for the controller of Slurm, and makes all nodes read its configuration again. Exit code 35: the controller does not answer.
set -eu
tries=0
until timeout 5 scontrol ping 2> /dev/null | grep -q 'is UP'; do
  tries=$((tries + 1))
  if [ $tries -ge 60 ]; then
    echo "error: the controller of Slurm does not answer; the end of its log: $(tail -n 5 /var/log/slurm/slurmctld.log 2> /dev/null)" >&2
    exit 35
  fi
  sleep 0.5
done
scontrol reconfigure
