#!/usr/bin/env bash
# Runs one function of the suite that suite.ts has laid out in the current folder: run-one.sh FUNCTION PORT.
# The function "runTests" is what the suite does between its functions.
set -o errexit -o nounset -o pipefail
# What is said stays in the order in which it was said.
exec 2>&1

wanted=$1
export SECURE_API_PORT=$2
# Ours is "v1.34.1+capstan", and the suite would ask for kubectl's very version.
export ALLOW_SKEW=true

source hack/lib/init.sh
source hack/lib/test.sh
# It tries whether failures are seen, and that is told as one.
source test/cmd/legacy-script.sh >/dev/null 2>&1
kube::util::ensure-gnu-sed
trap stop-proxy EXIT

CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:${SECURE_API_PORT}"
kubectl config set-context "${CONTEXT}" --user test-admin --cluster local
kubectl config use-context "${CONTEXT}"

# The suite goes on after a failure, in the namespace that the function before has left; here each has a process and a namespace of its own.
if [[ "${wanted}" == runTests ]]; then
  record_command() { :; }
else
  export WHAT=any
  record_command() {
    create_and_use_new_namespace
    "${wanted}"
  }
fi
export SUPPORTED_RESOURCES=("*")
runTests
