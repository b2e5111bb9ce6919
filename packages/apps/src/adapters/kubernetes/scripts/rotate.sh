#!/bin/sh
# Renews the certificates of a stopped member.
set -eu
. ./common.sh
role=$2

fail() {
  echo "error: $program could not renew its certificates (exit code $1)" >&2
  exit 65
}

if [ "$program" != kubeadm ]; then
  "$program" certificate rotate || fail $?
  exit 0
fi
# The kubelet of an agent renews its own certificate.
[ "$role" = server ] || exit 0
kubeadm certs renew all || fail $?
# The kubelet starts the servers again, which read certificates only then.
for folder in /proc/[0-9]*; do
  case "$(cat "$folder/comm" 2>/dev/null)" in
  etcd | kube-apiserver | kube-controller* | kube-scheduler)
    ! grep -qs kubepods "$folder/cgroup" || kill "${folder#/proc/}" 2>/dev/null || :
    ;;
  esac
done
