#!/usr/bin/env bash
# Runs one function of the suite that suite.ts copied into the current folder: run-one.sh FUNCTION PORT.
# The function "runTests" is what the suite does between its functions.
set -o errexit -o nounset -o pipefail
# Keep standard output and standard error in order.
exec 2>&1

wanted=$1
export SECURE_API_PORT=$2
# Capstan reports "v1.34.1+capstan", but the suite expects exactly the version of kubectl.
export ALLOW_SKEW=true

source hack/lib/init.sh
source hack/lib/test.sh
# It tests that failures are noticed, which prints one.
source test/cmd/legacy-script.sh >/dev/null 2>&1
kube::util::ensure-gnu-sed
trap stop-proxy EXIT

CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:${SECURE_API_PORT}"
kubectl config set-context "${CONTEXT}" --user test-admin --cluster local
kubectl config use-context "${CONTEXT}"

# The suite continues after a failure, in the namespace of the previous function; here each has its own process and namespace.
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
