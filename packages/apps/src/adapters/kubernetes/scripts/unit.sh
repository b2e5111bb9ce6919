#!/bin/sh
# Starts or stops the service of a member with systemd. It does not wait until a service is ready.
set -eu
verb=$2 name=$3

if ! systemctl cat "$name.service" > /dev/null 2>&1; then
  [ "$verb" = start ] || exit 0
  echo "error: systemd has no unit $name; install it again" >&2
  exit 35
fi
case $verb in
start)
  systemctl reset-failed "$name" 2>/dev/null || :
  systemctl enable --quiet "$name" && systemctl start --no-block "$name" || { echo "error: systemctl could not start $name" >&2; exit 36; }
  ;;
stop)
  systemctl disable --quiet "$name" || :
  systemctl stop "$name" || { echo "error: systemctl could not stop $name" >&2; exit 36; }
  ;;
esac
