#!/bin/sh
# Removes Slurm with its services, files, accounts and packages, as far as Capstan brought them, and reports what remains.
# Argument: the id of the instance. Exit code 20: another instance is here.
set -u
. ./common.sh
instance=$1
[ -e $state/instance ] || exit 0
found=$(cat $state/instance)
[ "$found" = "$instance" ] || fail 20 "this machine is a part of the instance $found, not of $instance"

remains=false
residue() {
  echo "residue: $1: $2"
  remains=true
}
touch $state/accounts $state/packages $state/masks
processes() {
  for process in /proc/[0-9]*; do
    ! grep -qs '^State:.Z' "$process/status" || continue
    case $(cat "$process/comm" 2> /dev/null) in
      munged | slurmctld | slurmd | slurmdbd | slurmstepd) echo "${process#/proc/}" ;;
      mariadbd) ! tr '\0' ' ' < "$process/cmdline" | grep -q /var/lib/slurm/ || echo "${process#/proc/}" ;;
      *)
        owner=$(stat --format=%U "$process" 2> /dev/null)
        ! grep -qsx "${owner:-root}" $state/accounts || echo "${process#/proc/}"
        ;;
    esac
  done
}

# First: nobody gets a shell any more.
rm -rf "/var/lib/capstan/apps/$instance"

tries=0
while left=$(processes) && [ -n "$left" ] && [ $tries -lt 50 ]; do
  if [ $tries -lt 25 ]; then signal=TERM; else signal=KILL; fi
  # shellcheck disable=SC2086
  kill -$signal $left 2> /dev/null
  sleep 0.2
  tries=$((tries + 1))
done
for process in $(processes); do residue "process $process" "$(cat "/proc/$process/comm") could not be ended"; done

while read -r name; do
  ! id "$name" > /dev/null 2>&1 || userdel --force "$name" > /dev/null 2>&1
  ! getent group "$name" > /dev/null || groupdel "$name" > /dev/null 2>&1
  rm -rf "/home/$name" "/var/mail/$name"
  ! id "$name" > /dev/null 2>&1 || residue "account $name" 'could not be removed'
  [ ! -e "/home/$name" ] || residue "/home/$name" 'could not be deleted'
done < $state/accounts

if [ -s $state/packages ]; then
  # shellcheck disable=SC2046
  DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet --option=DPkg::Lock::Timeout=300 purge $(cat $state/packages) > $state/purge.log 2>&1 ||
    tail -n 5 $state/purge.log
  while read -r name; do
    case $(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2> /dev/null) in
      '' | not-installed) ;;
      *) residue "package $name" 'is still installed' ;;
    esac
  done < $state/packages
fi

# Control groups of version 1 stay when their jobs have ended.
for group in /sys/fs/cgroup/*/slurm; do
  [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} ';' 2> /dev/null
  [ ! -d "$group" ] || residue "$group" 'could not be removed'
done

rm -rf /var/lib/slurm /var/log/slurm /run/slurm /run/slurm-database /run/slurm-starts /etc/slurm/slurm.conf /etc/slurm/gres.conf /etc/slurm/cgroup.conf /etc/slurm/slurmdbd.conf
rm -f /run/slurmd.pid
rmdir /etc/slurm 2> /dev/null
if [ -e $state/munge.key-before ]; then
  cp -p $state/munge.key-before /etc/munge/munge.key
else
  rm -rf /etc/munge /var/lib/munge /var/log/munge /run/munge
fi
for user in munge slurm; do
  grep -qx $user $state/users-before || ! id $user > /dev/null 2>&1 || userdel $user > /dev/null 2>&1
  grep -qx $user $state/users-before || ! id $user > /dev/null 2>&1 || residue "account $user" 'could not be removed'
done
sed '/^# begin capstan-slurm$/,/^# end capstan-slurm$/d' /etc/hosts > $state/hosts && cat $state/hosts > /etc/hosts
while read -r mask; do rm -f "$mask"; done < $state/masks
[ ! -d /run/systemd/system ] || systemctl daemon-reload
! grep -qs capstan-slurm /usr/sbin/policy-rc.d || rm /usr/sbin/policy-rc.d

for path in /var/lib/slurm /var/log/slurm /run/slurm /etc/slurm/slurm.conf; do
  [ ! -e $path ] || residue "$path" 'could not be deleted'
done
[ -e $state/munge.key-before ] || [ ! -e /etc/munge/munge.key ] || residue /etc/munge/munge.key 'could not be deleted'
if $remains; then
  residue $state 'stays, so that the next attempt knows what belongs to the instance'
else
  rm -rf $state
fi
exit 0
