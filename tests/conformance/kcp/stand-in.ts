import { copyFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { startForKcp } from './server.ts';

/* Replaces `kcp start …` in tests that start their own server: starts Capstan on the same port, with the same files. */

const given = new Map<string, string>();
const args = process.argv.slice(3);
for (let at = 0; at < args.length; at++) {
  const [name = '', value] = args[at]!.split(/=(.*)/s);
  given.set(name, value ?? args[++at] ?? '');
}
const tokens = given.get('--token-auth-file') || process.env['KCP_TEST_TOKENS'];
const [root, port, kubeconfig] = ['--root-directory', '--secure-port', '--kubeconfig-path'].map((name) => given.get(name));
if (root === undefined || port === undefined || kubeconfig === undefined || tokens === undefined) {
  throw new Error('expected --root-directory, --secure-port, --kubeconfig-path and tokens');
}

const directory = join(root, 'capstan');
mkdirSync(directory, { recursive: true });
const server = await startForKcp({ directory, port: Number(port), tokens: resolve(tokens), settings: settingsOf(given) });
const beside = dirname(kubeconfig);
for (const name of ['client-ca.crt', 'client-ca.key', 'apiserver.crt', 'apiserver.key'])
  copyFileSync(join(directory, name), join(beside, name));
// Tests wait for this file, so it must appear complete.
copyFileSync(server.kubeconfig, `${kubeconfig}.new`);
renameSync(`${kubeconfig}.new`, kubeconfig);
const { promise: asked, resolve: end } = Promise.withResolvers<void>();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => end());
await Promise.race([asked, server.child.exited]);
await server[Symbol.asyncDispose]();

function settingsOf(flags: ReadonlyMap<string, string>): Record<string, unknown> {
  const settings: Record<string, unknown> = {};
  const audit = { logFile: flags.get('--audit-log-path'), policyFile: flags.get('--audit-policy-file') };
  if (audit.logFile !== undefined)
    settings['audit'] = { logFile: resolve(audit.logFile), ...(audit.policyFile && { policyFile: resolve(audit.policyFile) }) };
  const webhook = flags.get('--authorization-webhook-config-file');
  if (webhook !== undefined) {
    const order = flags.get('--authorization-order') ?? 'AlwaysAllowGroups,AlwaysAllowPaths,RBAC,Webhook';
    settings['authorization'] = { configurationFile: authorizationFile(order.split(','), resolve(webhook)) };
  }
  const groups = flags.get('--home-workspaces-home-creator-groups');
  const gates = (flags.get('--feature-gates') ?? '').split(',');
  settings['workspaces'] = {
    ...(groups !== undefined && { homeCreatorGroups: groups.split(',') }),
    mounts: { enabled: gates.includes('WorkspaceMounts=true') },
  };
  return settings;
}

/** Translates kcp's flags and their defaults to Kubernetes' authorization configuration. */
function authorizationFile(order: readonly string[], kubeConfigFile: string): string {
  const webhook = {
    timeout: '30s',
    subjectAccessReviewVersion: 'v1',
    failurePolicy: 'NoOpinion',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile },
  };
  const authorizers = order.map((type) => ({ type, name: type.toLowerCase(), ...(type === 'Webhook' && { webhook }) }));
  const file = join(directory, 'authorization.json');
  writeFileSync(file, JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration', authorizers }));
  return file;
}
