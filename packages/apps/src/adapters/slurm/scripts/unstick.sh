#!/bin/sh
# Kills the daemon of this member if it runs but does not answer, so that the agent starts it again. Jobs go on without it.
# Argument: slurmd or slurmctld.
set -eu
daemon=$1
case $daemon in
  slurmd) ! timeout 5 scontrol show slurmd > /dev/null 2>&1 || exit 0 ;;
  slurmctld) ! timeout 5 scontrol ping 2> /dev/null | grep -q 'is UP' || exit 0 ;;
esac
for process in /proc/[0-9]*; do
  [ "$(cat "$process/comm" 2> /dev/null)" = "$daemon" ] || continue
  echo "killing $daemon, process ${process#/proc/}, which does not answer"
  kill -KILL "${process#/proc/}" || true
done
