#!/bin/dash
# The same for the step that installs packages.
folder=/var/gate
case " $* " in
  *' install '*)
    echo 'begin apt-get' >> $folder/record
    [ ! -e $folder/stubborn-apt-get ] || trap '' TERM
    [ ! -e $folder/flood-apt-get ] || yes 'a line of many, which nobody will ever read to its end' | head -c 1073741824
    while [ -e $folder/hold-apt-get ]; do sleep 0.05; done
    ;;
esac
exec /usr/bin/apt-get "$@"
