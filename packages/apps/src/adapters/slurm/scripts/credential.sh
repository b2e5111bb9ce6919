#!/bin/sh
# Prints a munge credential of the user nobody, by which another member shows that it has the same key. Exit code 32: munged does not answer.
set -eu
tries=0
while ! setpriv --reuid=nobody --regid=nogroup --clear-groups munge --no-input 2> /tmp/capstan-munge.$$; do
  tries=$((tries + 1))
  if [ $tries -ge 50 ]; then
    echo "error: munged does not answer: $(cat /tmp/capstan-munge.$$)" >&2
    rm -f /tmp/capstan-munge.$$
    exit 32
  fi
  sleep 0.2
done
rm -f /tmp/capstan-munge.$$
