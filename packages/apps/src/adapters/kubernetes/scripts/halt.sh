#!/bin/sh
# Ends the pods and all programs of RKE2 or k3s with its own script. The data stays.
set -eu
program=$1
PATH=/usr/local/bin:/opt/$program/bin:$PATH
if command -v "$program-killall.sh" > /dev/null; then
  "$program-killall.sh"
else
  echo "$program-killall.sh is not installed; nothing to do"
fi
