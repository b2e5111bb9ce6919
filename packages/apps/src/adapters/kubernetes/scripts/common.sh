# shellcheck shell=sh
# Where the program, whose name is the first argument, has its files.
program=$1
own=/var/lib/capstan-apps/$program
case $program in
kubeadm)
  config=/etc/kubernetes data=/var/lib/kubelet tls=/etc/kubernetes/pki
  admin=/etc/kubernetes/admin.conf member=/etc/kubernetes/kubelet.conf
  # Its programs are in $own: the machine may have others of the same names.
  files='/var/log/kubelet.log /var/lib/etcd'
  PATH=$own/bin:$PATH
  ;;
*)
  config=/etc/rancher/$program data=/var/lib/rancher/$program tls=/var/lib/rancher/$program/server/tls
  admin=/etc/rancher/$program/$program.yaml member=/var/lib/rancher/$program/agent/kubelet.kubeconfig
  files="/var/lib/kubelet /var/log/$program.log /var/log/$program-server.log /var/log/$program-agent.log /usr/local/share/$program /usr/local/bin/$program
    /usr/local/bin/$program-killall.sh /usr/local/bin/$program-uninstall.sh /usr/local/bin/$program-agent-uninstall.sh
    /usr/local/lib/systemd/system/$program-server.env /usr/local/lib/systemd/system/$program-agent.env"
  PATH=/usr/local/bin:/opt/$program/bin:$PATH
  ;;
esac
# What is removed with the program, besides its own folders.
files="$files /run/k3s /run/flannel /var/lib/cni /var/log/pods /var/log/containers /etc/rancher/node
  /etc/NetworkManager/conf.d/capstan-kubernetes.conf /etc/sysctl.d/90-capstan-kubernetes.conf"

kubectl() {
  if [ "$program" = kubeadm ]; then command kubectl "$@"
  elif [ -x "$data/bin/kubectl" ]; then "$data/bin/kubectl" "$@"
  else "$program" kubectl "$@"; fi
}

# As the administrator of the cluster, at the API of this server. Only servers can.
kubeadmin() {
  if [ "$program" = kubeadm ]; then kubectl --kubeconfig "$admin" --server https://127.0.0.1:6443 "$@"
  else kubectl --kubeconfig "$admin" "$@"; fi
}

# The API of this server may just have been started again.
wait_for_api() {
  for _ in $(seq 20); do
    ! kubeadmin --request-timeout 10s get --raw /readyz > /dev/null || return 0
    sleep 1
  done
  return 1
}

reported_version() {
  if [ "$program" = kubeadm ]; then kubeadm version -o short 2>/dev/null
  else "$program" --version 2>/dev/null | sed -n '1s/^.* version \([^ ]*\).*$/\1/p'; fi
}

# The processes of pods.
pod_processes() {
  for folder in /proc/[0-9]*; do
    ! grep -qs kubepods "$folder/cgroup" || echo "${folder#/proc/}"
  done
}

# Routes to the pods of a cluster, whose network is the first argument. Those of the machine's own links stay.
pod_routes() { ip "$(family_of "$1")" route show root "$1" 2>/dev/null | grep -v ' proto kernel '; }
family_of() { case $1 in *:*) echo -6 ;; *) echo -4 ;; esac; }
