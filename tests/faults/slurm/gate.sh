#!/bin/dash
# Takes the place of /bin/sh. Steps of Slurm are scripts: it writes down that one begins, and marks hold it, make it ignore signals, or let it print a gigabyte.
folder=/var/gate
file=${1##*/}
if [ "${#file}" -eq 64 ] && name=$(sed -n "s/^$file //p" $folder/names) && [ -n "$name" ]; then
  [ "$name" != slurm-node ] || name=$name-$2
  echo "begin $name" >> $folder/record
  [ ! -e "$folder/stubborn-$name" ] || trap '' TERM
  [ ! -e "$folder/flood-$name" ] || yes 'a line of many, which nobody will ever read to its end' | head -c 1073741824
  while [ -e "$folder/hold-$name" ]; do sleep 0.05; done
fi
exec /bin/dash "$@"
