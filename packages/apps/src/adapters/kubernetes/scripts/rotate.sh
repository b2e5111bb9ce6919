#!/bin/sh
# Renews the certificates of a stopped member.
set -eu
program=$1
PATH=/usr/local/bin:/opt/$program/bin:$PATH
"$program" certificate rotate || {
  echo "error: $program could not renew its certificates (exit code $?)" >&2
  exit 65
}
