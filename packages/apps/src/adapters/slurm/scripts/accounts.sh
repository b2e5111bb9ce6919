#!/bin/sh
# Gives users an account with the same uid on each member, and removes accounts that nobody wants any more.
# Arguments: name:uid of each user. Exit codes: 25 the name has another uid here, 26 the uid belongs to another name.
set -eu
. ./common.sh
wanted=" $* "

touch $state/accounts
for entry; do
  name=${entry%%:*} uid=${entry#*:}
  found=$(id -u "$name" 2> /dev/null || true)
  [ "$found" != "$uid" ] || continue
  [ -z "$found" ] || fail 25 "the account $name has the uid $found on this machine, but $uid in the cluster"
  for database in passwd group; do
    other=$(getent $database "$uid" | cut -d: -f1)
    [ -z "$other" ] || [ "$other" = "$name" ] || fail 26 "the id $uid of the user $name belongs to $other on this machine"
  done
  grep -qx "$name" $state/accounts || echo "$name" >> $state/accounts
  getent group "$name" > /dev/null || groupadd --gid "$uid" "$name"
  useradd --create-home --shell /bin/bash --uid "$uid" --gid "$name" "$name"
  echo "added $name"
done

# Files in their homes stay until the instance is decommissioned.
while read -r name; do
  case $wanted in *" $name:"*) continue ;; esac
  ! id "$name" > /dev/null 2>&1 || {
    userdel --force "$name" 2> /dev/null || true
    echo "removed $name"
  }
done < $state/accounts
for entry; do echo "$entry"; done > $state/users

# The node agent gives shells to those who have an account. The platform decides on which member.
access=/var/lib/capstan/apps/$(cat $state/instance)
umask 077
mkdir -p "$access"
echo '{"shell":true}' > "$access/access.json.new"
mv "$access/access.json.new" "$access/access.json"
