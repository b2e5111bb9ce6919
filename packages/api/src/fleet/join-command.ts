import { installScriptPath } from '../capstan/agent-archives.ts';
import { authorityByHashPath } from '../capstan/node-pages.ts';

/** Everything that a machine needs to become a node. */
export interface Invitation {
  readonly server: string;
  readonly token: string;
  readonly authorityHash: string;
}

/** For a machine that has Capstan. */
export function agentCommand({ server, token, authorityHash }: Invitation): string {
  return `capstan node-agent --server ${server} --token ${token} --ca-hash ${authorityHash}`;
}

/**
 * For a bare machine with curl. It runs in a subshell, so that the token is in no process list and a failure ends nothing else. The first download is not verified
 * until its hash is compared; the file that curl trusts afterwards is made from exactly the bytes that were hashed.
 */
export function installCommand({ server, token, authorityHash }: Invitation): string {
  const wrong = 'capstan: the server has another authority than the join command says. Check the address; somebody may be in between.';
  const unreachable = `capstan: ${server} did not answer with the expected file. Check the address and the network.`;
  const fail = (message: string): string => `{ echo '${message}' >&2; exit 1; }`;
  const steps = [
    `S=${server} H=${authorityHash}`,
    'D=$(mktemp -d) || exit',
    `trap 'rm -rf "$D"' EXIT`,
    'cd "$D"',
    `curl -fsSk $S${authorityByHashPath}$H -o ca.der || [ $? -eq 22 ] || ${fail(unreachable)}`,
    `sha256sum ca.der 2> /dev/null | grep -q ^$H || ${fail(wrong)}`,
    '(echo -----BEGIN CERTIFICATE-----; base64 ca.der; echo -----END CERTIFICATE-----) > ca.pem',
    `curl -sS --cacert ca.pem $S${installScriptPath} -o install.sh || ${fail(unreachable)}`,
    `grep -q '^#!/bin/sh' install.sh || { cat install.sh >&2; exit 1; }`,
    `CAPSTAN_NODE_TOKEN=${token} sh install.sh --server $S --ca-hash $H --ca-file ca.pem`,
  ];
  return `(${steps.join('; ')})`;
}
