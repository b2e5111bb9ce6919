import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type RunningCapstan, run, startCapstan, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chart, OfflineHelm, type Values } from './chart.ts';

const root = resolve(import.meta.dirname, '../../..');
const analyze = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find((path) => existsSync(path));

describe.skipIf(analyze === undefined)(`the systemd unit${analyze === undefined ? ' [systemd-analyze is not installed]' : ''}`, () => {
  const unit = resolve(root, 'deploy/systemd/capstan.service');

  test('is valid for systemd', async () => {
    // Without checking manual pages, which a small machine does not have.
    expect(await run(analyze!, ['verify', '--man=no', unit])).toMatchObject({ code: 0, stderr: '' });
  });

  test('leaves the service few privileges', async () => {
    // In tenths of the scale on which 10 means no protection at all. Network access and the writable code of Node remain.
    const { code, stdout, stderr } = await run(analyze!, ['security', '--offline=true', '--no-pager', '--threshold=20', unit]);
    expect(code, stdout + stderr).toBe(0);
  });
});

const etcd: Values = ['etcd.endpoints={https://etcd-0:2379,https://etcd-1:2379}', 'etcd.tlsSecret=etcd-tls', 'pki.existingSecret=keys'];

await describeWith(['helm', 'kubectl'], 'the Helm chart', ({ helm: path, kubectl }) => {
  const home = temporaryDirectory('helm');
  const helm = new OfflineHelm(path, home.path);
  let server: RunningCapstan;

  beforeAll(async () => {
    server = await startCapstan({ store: 'sqlite' });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  const render = async (values: Values): Promise<string> => {
    const { code, stdout, stderr } = await helm.template(values);
    expect(code, stderr).toBe(0);
    return stdout;
  };

  test('passes the linter', async () => {
    expect(await helm.call('lint', '--strict', chart)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each<[string, Values]>([
    ['with defaults', []],
    ['without a volume', ['persistence.enabled=false', 'serviceAccount.create=false']],
    ['with three replicas on etcd', [...etcd, 'replicaCount=3']],
    ['behind a load balancer', ['service.type=LoadBalancer', 'service.port=443', 'advertise=api.example.com', 'names={api.example.com}']],
    ['with files and settings', ['fileSecrets={policy}', 'config.apiserver.audit.policyFile=/etc/capstan/files/policy/audit.yaml']],
  ])('is accepted by a server: %s', async (_title, values) => {
    const manifests = await render(values);
    const applied = await run(
      kubectl,
      ['--kubeconfig', server.kubeconfig, 'apply', '--dry-run=server', '--validate=strict', '--filename', '-'],
      { input: manifests, environment: { HOME: home.path } },
    );
    expect(applied.code, applied.stderr).toBe(0);
    expect(applied.stdout).toContain('statefulset.apps/demo-capstan created (server dry run)');
  });

  test.each<[string, Values, string]>([
    ['several replicas on SQLite', ['replicaCount=2'], 'SQLite serves one replica'],
    ['replicas with keys of their own', ['replicaCount=2', 'etcd.endpoints={http://etcd:2379}'], 'the replicas share no keys'],
    ['an unknown value', ['replicas=2'], 'replicas'],
    ['a URL to advertise', ['advertise=https://api.example.com/'], 'advertise'],
  ])('is rejected: %s', async (_title, values, reason) => {
    const { code, stderr } = await helm.template(values);
    expect(code).not.toBe(0);
    expect(stderr).toContain(reason);
  });

  test('has the version of this release', async () => {
    const { version } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { version: string };
    const text = readFileSync(`${chart}/Chart.yaml`, 'utf8');
    expect(text).toContain(`\nversion: ${version}\n`);
    expect(text).toContain(`\nappVersion: "${version}"\n`);
  });
});
