#!/bin/sh
# Lets a name lead to all servers of a cluster, by /etc/hosts: programs try its addresses in turn, so a server may fail or leave.
set -eu
. ./common.sh
instance=$2 name=$3
shift 3

mark="# capstan $instance"
others=$(grep -vF "$mark" /etc/hosts || :)
{
  [ -z "$others" ] || printf '%s\n' "$others"
  for address in "$@"; do printf '%s %s %s\n' "$address" "$name" "$mark"; done
} > /etc/hosts.capstan
chmod 644 /etc/hosts.capstan
# Containers may have the file itself mounted, so it keeps its inode.
cat /etc/hosts.capstan > /etc/hosts
rm -f /etc/hosts.capstan
