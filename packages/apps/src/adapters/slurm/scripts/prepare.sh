#!/bin/sh
# Prepares a machine for the packages of Slurm: refuses one that somebody else uses for Slurm, and remembers what the machine had before.
# Arguments: the id of the instance, the name of the machine in Slurm, `cgroup` if it confines jobs and `none` otherwise, and the ports of its services.
# Exit codes: 20 another instance is here, 21 a Slurm of somebody else is here, 23 a port is taken, 24 the machine has another name, 27 jobs cannot be confined, 28 the disk is full.
set -eu
. ./common.sh
instance=$1 name=$2 confinement=$3
shift 3

found=$(uname -n)
[ "${found%%.*}" = "$name" ] ||
  fail 24 "the host name of this machine is $found, but its agent has reported $name, by which Slurm would know it; set it back with hostnamectl, or restart the agent, and retry"
if [ "$confinement" = cgroup ]; then
  groups=/sys/fs/cgroup
  advice='start the machine with systemd, which mounts them, or set the parameter confinement to none'
  kind() { stat --file-system --format=%T "$1" 2> /dev/null || true; }
  # Slurm looks for them in the same places.
  case $(kind $groups),$(kind $groups/systemd) in
    cgroup2fs,*)
      [ -d /run/systemd/system ] || fail 27 "jobs cannot be confined by control groups of version 2, as systemd does not run on this machine; $advice"
      for controller in cpuset memory; do
        grep -qsw $controller $groups/cgroup.controllers ||
          fail 27 "jobs cannot be confined, as the control groups of version 2 of this machine have no $controller; $advice"
      done
      ;;
    tmpfs,cgroupfs)
      for controller in cpuacct cpuset devices freezer memory; do
        [ "$(kind $groups/$controller)" = cgroupfs ] ||
          fail 27 "jobs cannot be confined, as the control groups of version 1 of this machine have no $controller; $advice"
      done
      ;;
    *) fail 27 "jobs cannot be confined, as this machine has no control groups in $groups where Slurm looks for them; $advice" ;;
  esac
fi

if [ -e $state/instance ]; then
  found=$(cat $state/instance)
  [ "$found" = "$instance" ] || fail 20 "this machine is still a part of the instance $found: decommission that one first"
  exit 0
fi

for file in /etc/slurm/slurm.conf /etc/slurm/slurmdbd.conf; do
  [ ! -e $file ] || fail 21 "$file exists, but Capstan has not written it: remove that installation of Slurm first"
done
for process in /proc/[0-9]*; do
  case $(cat "$process/comm" 2>/dev/null || true) in
    munged | slurmctld | slurmd | slurmdbd) fail 21 "$(cat "$process/comm") runs already, but Capstan has not started it" ;;
  esac
done
for port; do
  program=$(listener "$port")
  [ -z "$program" ] || fail 23 "Slurm needs the port $port, but $program listens on it; stop it, and retry"
done
available=$(free /var/lib)
[ "${available:-0}" -ge 256 ] || fail 28 "expected 256 MiB of free space in /var/lib, found $available MiB; free some, and retry"

mkdir -p -m 0700 $state
dpkg-query --show --showformat='${Package}\n' | sort > $state/packages-before
cut -d: -f1 /etc/passwd | sort > $state/users-before
[ ! -e /etc/munge/munge.key ] || cp -p /etc/munge/munge.key $state/munge.key-before

# The agent runs the services. Units of the distribution must not start them as well, neither now nor at the next start of the machine.
mkdir -p /etc/systemd/system
for unit in munge slurmctld slurmd slurmdbd; do
  mask=/etc/systemd/system/$unit.service
  [ ! -e $mask ] && [ ! -L $mask ] || continue
  echo $mask >> $state/masks
  ln -s /dev/null $mask
done
[ ! -d /run/systemd/system ] || systemctl daemon-reload
if [ ! -e /usr/sbin/policy-rc.d ]; then
  printf '#!/bin/sh\n# capstan-slurm\nexit 101\n' > /usr/sbin/policy-rc.d
  chmod 0755 /usr/sbin/policy-rc.d
fi
apt-get --quiet=2 update || echo 'warning: the list of packages could not be renewed'
printf '%s\n' "$instance" > $state/instance.new
mv $state/instance.new $state/instance
