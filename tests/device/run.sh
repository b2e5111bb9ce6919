#!/bin/sh
# Runs on a bare machine, as root, with the repository as its working directory; README.md says how.
set -u
dist=$PWD/tests/device/dist
work=$(mktemp -d /var/tmp/capstan-device.XXXXXX)
log=${OUT:-$work}/device.log
port=16443
failures=0
: > "$log"

say() { echo "$*" | tee -a "$log"; }
section() { say; say "== $*"; }
# check NAME COMMAND…: the output goes to the log, and a failure does not end the rest.
check() {
  name=$1; shift
  if "$@" >> "$log" 2>&1; then say "ok      $name"; else say "FAILED  $name"; failures=$((failures + 1)); fi
}
# until SECONDS COMMAND…
until_true() {
  left=$1; shift
  while [ "$left" -gt 0 ]; do "$@" > /dev/null 2>&1 && return 0; sleep 1; left=$((left - 1)); done
  "$@"
}
has() { grep -q -- "$1" "$2"; }

section machine
{ uname -a; . /etc/os-release; echo "$PRETTY_NAME"; echo "first process: $(cat /proc/1/comm)"; mount | grep cgroup; systemctl --version | head -1; nvidia-smi -L; for name in node curl ip nft podman python3; do command -v $name; done; } 2>&1 | tee -a "$log"

section 'the archive alone'
mkdir -p "$work/agent"
check 'unpacks' tar -xzf "$(ls "$dist"/data/agents/*.tar.gz | head -1)" -C "$work/agent"
capstan() { "$work/agent/bin/capstan" "$@"; }
check 'runs without a Node of the machine' capstan --version
cp -r "$dist/data" "$work/data"
setsid "$work/agent/bin/capstan" up --no-node --data-dir "$work/data" --port $port > "$work/up.log" 2>&1 &
up=$!
export KUBECONFIG="$work/data/admin.kubeconfig"
check 'is a control plane' until_true 120 has 'platform controllers run' "$work/up.log"

section 'the agent'
enrolled() { capstan node enroll device > "$work/join" 2>> "$log"; }
check 'is enrolled' until_true 60 enrolled
gpus=${DECLARED_GPUS:+ -- --gpus $DECLARED_GPUS}
sed "s|--ca-file ca.pem|--ca-file ca.pem --prefix $work/opt --state-dir $work/state|; s|)\$|$gpus)|" "$work/join" > "$work/join.sh"
check 'joins with the printed command' sh "$work/join.sh"
ready() { capstan node list | grep -q '^device  *Ready'; }
check 'is ready' until_true 60 ready
capstan node show device 2>&1 | tee -a "$log"
capstan node top 2>&1 | tee -a "$log"
agent() { pgrep -f "node-agent --state-dir $work/state" | head -1; }

section 'service.ensure'
say "driver: $(grep -rhoE 'tasks run (as transient units of systemd|under the supervisor)' "$work/state" "$work/opt" 2>> "$log" | tail -1; journalctl --unit capstan-node-agent --no-pager 2> /dev/null | grep -oE 'tasks run .*' | tail -1)"
ensure() { capstan task run device service.ensure --set name=steady --set "state=$1" --set "command=[\"/bin/sh\",\"-c\",\"echo \$\$ > $work/pid; exec sleep 6000\"]" --name "$2" --follow; }
check 'starts a service' ensure running start
pid=$(cat "$work/pid" 2> /dev/null)
say "control group: $(cat "/proc/$pid/cgroup" 2> /dev/null)"
before=$(agent)
[ -n "$before" ] && kill -KILL "$before"
restarted() { after=$(agent); [ -n "$after" ] && [ "$after" != "$before" ]; }
if ! until_true 30 restarted; then sh "$work/join.sh" >> "$log" 2>&1; fi
check 'a new agent is ready after SIGKILL' until_true 60 ready
again() { ensure running again && [ "$(cat "$work/pid")" = "$pid" ] && kill -0 "$pid"; }
check 'the service is the same process' again
# A process that ended may stay as a zombie: its parent, the first agent, was killed.
runs() { [ -e "/proc/$1/stat" ] && ! grep -q '^[0-9]* ([^)]*) Z' "/proc/$1/stat"; }
stopped() { ensure stopped stop && ! runs "$pid"; }
check 'stops it' stopped

section 'a unit on the GPU'
cp tests/device/gpu.py "$work/gpu.py"
model=$(capstan node list | awk '/^device/ { print $4 }' | sed 's/.*×//')
check 'an offering' capstan offering create device --model "$model" --gpus 1
check 'a project' capstan ws use root:main
check 'a project' capstan ws create device --type project --enter
planned() { capstan allocation plan --offering device | tee -a "$log" | grep -q '^device '; }
check 'a plan' planned
program="python3 gpu.py"; [ -n "${DECLARED_GPUS:-}" ] && program="ls gpu.py"
unit() { (cd "$work" && mkdir -p unit && cp gpu.py unit/ && cd unit && "$work/agent/bin/capstan" run --offering device -- $program); }
check 'uses the card without PyTorch' unit
bare() { (cd "$work/unit" && "$work/agent/bin/capstan" run --no-upload --cpu 1 --memory 1Gi -- sh -c '! ls /dev/nvidia[0-9]* 2> /dev/null'); }
check 'a unit without a GPU sees none' bare
clean() { capstan node show device > "$work/node" && ! grep -q '^Clean' "$work/node" && capstan allocation list 2>&1 | grep -qv Active; }
check 'the node is clean afterwards' until_true 60 clean
capstan task list --node device 2>&1 | tee -a "$log"

section 'drivers of processes'
suite() { "$work/agent/bin/node" "$dist/$1.js" > "$work/$1.log" 2>&1; code=$?; cat "$work/$1.log" >> "$log"; grep -E '^(SKIPPED|ℹ (pass|fail|skipped))' "$work/$1.log" | tr '\n' ' '; echo; return $code; }
for name in supervisor.test services.test drivers; do
  if suite $name; then say "ok      $name"; else say "FAILED  $name"; failures=$((failures + 1)); fi
done

section end
pid=$(agent); [ -n "$pid" ] && kill "$pid"
systemctl disable --now capstan-node-agent > /dev/null 2>&1
kill $up 2> /dev/null
for name in up agent; do [ -f "$work/$name.log" ] && tail -n 40 "$work/$name.log" >> "$log"; done
say "$failures failed; everything is in $log"
[ "$failures" -eq 0 ]
