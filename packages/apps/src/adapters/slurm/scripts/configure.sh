#!/bin/sh
# Makes the folders of Slurm, lets members find each other by name, and remembers the packages that were installed.
# Arguments: the number of stand-ins for declared GPUs, then address=name for each member, many in one argument. Exit code 22: a program is missing after the installation.
set -eu
. ./common.sh
stand_ins=$1
shift

dpkg-query --show --showformat='${Package}\n' | sort | comm -13 $state/packages-before - > $state/packages.new
mv $state/packages.new $state/packages
! grep -qs capstan-slurm /usr/sbin/policy-rc.d || rm /usr/sbin/policy-rc.d
for program in munged munge scontrol; do
  command -v $program > /dev/null || fail 22 "$program is missing, although its package is installed; install the package again"
done

install -d -m 0755 /etc/slurm /var/log/slurm /var/lib/slurm /var/lib/slurm/slurmd
chown slurm:slurm /var/log/slurm /var/lib/slurm
install -d -m 0700 -o slurm -g slurm /var/lib/slurm/slurmctld

# Devices without a driver in place of cards that exist only in a declaration. Each has a number of its own, by which jobs are kept from those of others.
if [ "$stand_ins" -gt 0 ]; then
  install -d -m 0755 /var/lib/slurm/gpus
  index=0
  while [ $index -lt "$stand_ins" ]; do
    [ -e /var/lib/slurm/gpus/gpu$index ] || mknod -m 0666 /var/lib/slurm/gpus/gpu$index c 60 $index
    index=$((index + 1))
  done
fi

hosts=$(mktemp /etc/hosts.XXXXXX)
sed '/^# begin capstan-slurm$/,/^# end capstan-slurm$/d' /etc/hosts > "$hosts"
{
  echo '# begin capstan-slurm'
  # shellcheck disable=SC2048
  for member in $*; do echo "${member%%=*} ${member#*=}"; done
  echo '# end capstan-slurm'
} >> "$hosts"
chmod 0644 "$hosts"
if cmp -s "$hosts" /etc/hosts; then rm "$hosts"; else mv "$hosts" /etc/hosts; fi
