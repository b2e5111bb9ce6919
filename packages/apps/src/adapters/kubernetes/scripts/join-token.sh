#!/bin/sh
# Prints the token by which agents or servers join, or for kubeadm the hash of the authority of the cluster, which the tokens of the others contain. Or lets kubeadm share certificates.
set -eu
. ./common.sh
kind=$2
if [ "$program" = kubeadm ]; then
  if [ "$kind" = certificates ]; then
    kubeadm init phase upload-certs --upload-certs --config "$own/config.yaml" > /dev/null ||
      { echo "error: kubeadm could not share the certificates of the cluster" >&2; exit 53; }
    exit 0
  fi
  if [ "$kind" = authority ]; then
    found=$(kubeadm token create --kubeconfig "$admin" --dry-run --print-join-command 2>/dev/null | sed -n 's/^.*--discovery-token-ca-cert-hash \(sha256:[0-9a-f]*\).*$/\1/p')
  else
    found=$(kubeadm token create --kubeconfig "$admin" --ttl 24h --description 'Capstan: agents join by this token' | tail -n 1)
  fi
  [ -n "$found" ] || { echo "error: kubeadm did not make a token" >&2; exit 45; }
  echo "$found"
  exit 0
fi
file=$data/server/token
[ "$kind" = server ] || file=$data/server/agent-token
if [ ! -s "$file" ]; then
  echo "error: the server has not written $file" >&2
  exit 45
fi
cat "$file"
