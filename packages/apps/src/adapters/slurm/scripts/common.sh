state=/var/lib/capstan-slurm
logs=/var/log/slurm

fail() {
  code=$1
  shift
  echo "error: $*" >&2
  exit "$code"
}

# The last complaint in the log of a daemon, with advice if its cause is known.
complaint() {
  said=$(tail -n 40 "$logs/$1.log" 2> /dev/null | grep -E '(fatal|error): ' | tail -n 1 | sed 's/^\[[^]]*\] *//' | cut -c1-300)
  case $said in
    *'Expired credential'* | *'Rewound credential'*)
      said="$said; the clocks of this member and of the controller differ by more than five minutes: set them, for instance with chrony" ;;
    *'gres.conf file'*) said="$said; a GPU has no device file: look at its driver" ;;
    *"slurmd's NodeName"* | *'not a valid controller'*) said="$said; the host name of this machine has changed: set it back with hostnamectl" ;;
    *cgroup*) said="$said; if the machine has no control groups, set the parameter confinement to none" ;;
    *'No space left'*) said="$said; free some space" ;;
  esac
  printf '%s' "$said"
}

# The program that listens on a port; empty if none does. 0A is the state of sockets that listen.
listener() {
  socket=$(awk -v port="$(printf '%04X' "$1")" '$4 == "0A" && substr($2, index($2, ":") + 1) == port { print $10; exit }' \
    /proc/net/tcp $([ ! -e /proc/net/tcp6 ] || echo /proc/net/tcp6))
  [ -n "$socket" ] || return 0
  for descriptor in /proc/[0-9]*/fd/*; do
    [ "$(readlink "$descriptor" 2> /dev/null)" = "socket:[$socket]" ] || continue
    folder=${descriptor%/fd/*}
    echo "$(tr '\0' ' ' < "$folder/cmdline" | cut -c1-100)(process ${folder#/proc/})"
    return 0
  done
  echo 'a program of another namespace'
}

# Free space of the disk of a folder, in MiB.
free() { df -Pk "$1" 2> /dev/null | awk 'NR == 2 { print int($4 / 1024) }'; }
