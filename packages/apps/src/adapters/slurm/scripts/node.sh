#!/bin/sh
# Drains nodes of Slurm, resumes them, or says whether one is registered or drained. Reasons that begin with `capstan:` are ours; drains of others are never lifted.
# Arguments: drain NODE REASON | resume NODE others-fail|force | follow-gpus NODE=GPUS... | registered NODE (on the node itself) | drained NODE.
# Exit codes: 35 the controller does not answer, 36 Slurm does not know the node, 37 somebody else has drained it, 38 not yet.
set -eu
. ./common.sh
verb=$1
shift

look() {
  shown=$(timeout 10 scontrol --oneliner show node "$1" 2>&1) || case $shown in
    *'not found'*) fail 36 "Slurm does not know the node $1" ;;
    *) fail 35 "the controller of Slurm does not answer: $shown" ;;
  esac
  state=$(printf '%s\n' "$shown" | sed -n 's/.* State=\([^ ]*\) .*/\1/p')
  reason=$(printf '%s\n' "$shown" | sed -n 's/.* Reason=\(.*\) \[[^]]*\].*/\1/p')
  is_drained=false
  case $state in *DRAIN*) is_drained=true ;; esac
}

drain() {
  echo "draining $1: $2"
  scontrol update nodename="$1" state=drain reason="$2"
}

resume() {
  echo "resuming $1, which was drained: $reason"
  scontrol update nodename="$1" state=resume
}

case $verb in
  drain)
    look "$1"
    case $is_drained,$reason in
      "true,capstan: gpu"*) drain "$1" "$2" ;;
      true,*) echo "$1 is drained already: $reason" ;;
      *) drain "$1" "$2" ;;
    esac
    ;;
  resume)
    look "$1"
    case $is_drained,$2,$reason in
      false,*) ;;
      true,force,* | "true,$2,capstan:"*) resume "$1" ;;
      *) fail 37 "somebody else has drained $1: $reason" ;;
    esac
    ;;
  follow-gpus)
    # The will of a person stays, whether a GPU fails or works again.
    for entry; do
      node=${entry%%=*} gpus=${entry#*=}
      look "$node"
      case $is_drained,$reason in
        "true,capstan: gpu"*) [ -n "$gpus" ] || resume "$node" ;;
        true,*) ;;
        *) [ -z "$gpus" ] || drain "$node" "capstan: gpu $gpus is out of order" ;;
      esac
    done
    ;;
  registered)
    # Slurm itself notices only after minutes that a daemon has died.
    timeout 5 scontrol show slurmd > /dev/null 2>&1 || {
      why=$(complaint slurmd)
      fail 38 "slurmd on this member does not answer${why:+: $why}"
    }
    look "$1"
    case $state in
      *UNKNOWN* | *NOT_RESPONDING* | *DOWN* | *INVAL*) fail 38 "Slurm says that $1 is $state${reason:+: $reason}" ;;
    esac
    echo "$1 is $state"
    ;;
  drained)
    look "$1"
    case $state in
      ALLOCATED* | MIXED* | *COMPLETING*) fail 38 "$1 still runs the jobs $(squeue --noheader --nodelist="$1" --format=%i | tr '\n' ' ')" ;;
      *DRAIN* | *DOWN*) echo "$1 is $state" ;;
      *) fail 38 "$1 is not drained: $state" ;;
    esac
    ;;
esac
