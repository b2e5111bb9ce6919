# shellcheck shell=sh
# Where the program, whose name is the first argument, has its files.
program=$1
own=/var/lib/capstan-apps/$program
case $program in
kubeadm)
  config=/etc/kubernetes data=/var/lib/kubelet tls=/etc/kubernetes/pki
  admin=/etc/kubernetes/admin.conf member=/etc/kubernetes/kubelet.conf
  PATH=$own/bin:$PATH
  ;;
*)
  config=/etc/rancher/$program data=/var/lib/rancher/$program tls=/var/lib/rancher/$program/server/tls
  admin=/etc/rancher/$program/$program.yaml member=/var/lib/rancher/$program/agent/kubelet.kubeconfig
  PATH=/usr/local/bin:/opt/$program/bin:$PATH
  ;;
esac

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
