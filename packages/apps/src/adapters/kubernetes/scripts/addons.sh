#!/bin/sh
# Deploys the device plugin of the version in the cluster, so that pods get the GPUs of its nodes. Runs on a server.
set -eu
. ./common.sh
[ -f "$own/device-plugin.yaml" ] || { echo "error: $own/device-plugin.yaml is missing; reconcile the instance" >&2; exit 66; }
kubeadmin --request-timeout 60s apply -f "$own/device-plugin.yaml" || { echo "error: the cluster did not accept device-plugin.yaml of the version" >&2; exit 67; }
