#!/bin/sh
# Writes down that a step of an instance begins and ends. Files beside the record hold it, make it ignore signals, or let it print a gigabyte.
folder=/var/ledger
echo "begin $1 $2" >> "$folder/record"
[ ! -e "$folder/stubborn-$2" ] || trap '' TERM
[ ! -e "$folder/flood-$2" ] || yes 'a line of many, which nobody will ever read to its end' | head -c 1073741824
while [ -e "$folder/hold-$2" ]; do sleep 0.05; done
echo "end $1 $2" >> "$folder/record"
