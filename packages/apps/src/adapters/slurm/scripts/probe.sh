#!/bin/sh
# Looks at the services of a member and prints them as JSON. It changes nothing.
# Arguments: controller, compute or login; the name of the node in Slurm; whether there is accounting; the device files of its GPUs.
. ./common.sh
component=$1 node=$2 accounting=$3
shift 3

runs() {
  for process in /proc/[0-9]*; do
    [ "$(cat "$process/comm" 2> /dev/null)" = "$1" ] || continue
    grep -qs '^State:.Z' "$process/status" || return 0
  done
  return 1
}
is() { if "$@"; then printf true; else printf false; fi; }
text() { tr '\n\t' '  ' | tr -cd '[:print:]' | sed 's/[\\"]/\\&/g; s/ *$//' | cut -c1-500; }
answers() { timeout 5 scontrol show slurmd > /dev/null 2>&1; }
# How often a service was started in the last ten minutes.
starts() { awk -v since="$(($(date +%s) - 600))" '$1 > since { count++ } END { print count + 0 }' "/run/slurm-starts/$1" 2> /dev/null || echo 0; }
list() {
  separator=
  for entry; do
    printf '%s"%s"' "$separator" "$(printf '%s' "$entry" | text)"
    separator=,
  done
}

munge=$(timeout 5 sh -c 'munge --no-input | unmunge --metadata=/dev/null --output=/dev/null' 2>&1 | text)
key=$(sha256sum /etc/munge/munge.key 2> /dev/null | cut -c1-16)
printf '{"munged":%s,"munge":"%s","key":"%s"' "$(is runs munged)" "$munge" "$key"
printf ',"host":"%s","now":%s' "$(uname -n | text)" "$(date +%s)"
# What this member knows of the others and of the users.
hosts=$(sed -n '/^# begin capstan-slurm$/,/^# end capstan-slurm$/p' /etc/hosts | grep -v '^#' | LC_ALL=C sort | sha256sum | cut -c1-16)
users=$(sha256sum $state/users 2> /dev/null | cut -c1-16)
printf ',"hosts":"%s","users":"%s"' "$hosts" "$users"
controller=$(timeout 5 scontrol ping 2>&1 | head -n 1 | text)
printf ',"controller":"%s"' "$controller"
full=
for folder in /var/lib/slurm/slurmctld /var/lib/slurm/slurmd $logs; do
  available=$(free $folder)
  [ "${available:-1}" -ge 1 ] || full="$full $folder"
done
# shellcheck disable=SC2086
printf ',"full":[%s]' "$(list $full)"
if [ "$component" = controller ]; then
  printf ',"slurmctld":%s,"why":"%s","starts":%s' "$(is runs slurmctld)" "$(complaint slurmctld | text)" "$(starts slurm-controller)"
  [ "$accounting" = no ] || printf ',"slurmdbd":%s,"database":%s' "$(is runs slurmdbd)" "$(is runs mariadbd)"
fi
if [ "$component" = compute ]; then
  printf ',"slurmd":%s,"answers":%s,"why":"%s","starts":%s' "$(is runs slurmd)" "$(is answers)" "$(complaint slurmd | text)" "$(starts slurm-node)"
  shown=$(timeout 5 scontrol --oneliner show node "$node" 2>&1)
  printf ',"state":"%s"' "$(printf '%s' "$shown" | sed -n 's/.* State=\([^ ]*\) .*/\1/p' | text)"
  printf ',"reason":"%s"' "$(printf '%s' "$shown" | sed -n 's/.* Reason=\(.*\) \[[^]]*\].*/\1/p' | text)"
  missing=
  for device; do [ -e "$device" ] || missing="$missing $device"; done
  # shellcheck disable=SC2086
  printf ',"missing":[%s]' "$(list $missing)"
fi
printf '}\n'
