#!/bin/sh
# Waits for the controller of Slurm, and makes all nodes read its configuration again. Argument: its port.
# Exit codes: 23 the port is taken, 28 the disk is full, 35 the controller does not answer for another reason.
set -eu
. ./common.sh
port=$1

give_up() {
  available=$(free /var/lib/slurm/slurmctld)
  [ "${available:-1}" -ge 1 ] || fail 28 "the disk with /var/lib/slurm/slurmctld is full, so the controller cannot save its queue; free some space, and retry"
  program=$(listener "$port")
  case $program in
    '' | *slurmctld*) ;;
    *) fail 23 "the controller needs the port $port, but $program listens on it; stop it, and retry" ;;
  esac
  fail 35 "the controller of Slurm does not answer; its log, $logs/slurmctld.log, ends with: $(complaint slurmctld)"
}

tries=0
until timeout 5 scontrol ping 2> /dev/null | grep -q 'is UP'; do
  tries=$((tries + 1))
  [ $tries -lt 60 ] || give_up
  sleep 0.5
done
scontrol reconfigure
