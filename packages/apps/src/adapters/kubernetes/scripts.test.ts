import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { scriptsOf } from '../../adapter/scripts.ts';
import { exitCodes } from './exit-codes.ts';
import { kubernetesRegistration } from './registration.ts';

const scripts = scriptsOf('kubernetes');

test.each(scripts.map(({ name, content }) => [name, content] as const))(
  '%s explains itself, and every exit code has a code',
  (name, content) => {
    const used = [...content.matchAll(/(?:\bfail|\bexit|give_up|code=)\s*(\d+)\b/g)]
      .map(([, code]) => code!)
      .filter((code) => code !== '0');
    const known = Object.keys(exitCodes[name.replace('kubernetes-', '') as keyof typeof exitCodes] ?? {});
    expect([...new Set(used)].sort()).toEqual(known.sort());
    expect(content.startsWith('#!/bin/sh\n# ')).toBe(true);
  },
);

test('all apps are labelled self-managed, promise no storage, and permit only these scripts', () => {
  const apps = kubernetesRegistration.apps();
  expect(apps.map(({ metadata, spec }) => [metadata.name, spec.displayName, spec.support])).toEqual([
    ['rke2', 'Self-managed Kubernetes (RKE2)', 'self-managed'],
    ['k3s', 'Self-managed Kubernetes (k3s)', 'self-managed'],
    ['kubeadm', 'Self-managed Kubernetes (kubeadm)', 'self-managed'],
  ]);
  for (const { spec } of apps) {
    expect(spec.exclusions?.join()).toContain('StorageClasses');
    expect(spec.permitted?.scripts?.map(({ name }) => name)).toEqual(scripts.map(({ name }) => name));
  }
});

test.each([
  ['begins anew after a start that was cut off before the cluster was ready', {}, false],
  ['keeps the data of a cluster that has been ready', { isFormed: true }, true],
  ['keeps the data of a server that joins others', { settings: 'server: "https://192.0.2.11:6443"\n' }, true],
  ['leaves agents alone', { role: 'agent' }, true],
])(
  'a service %s',
  (_, { isFormed = false, settings = '', role = 'server' }: { isFormed?: boolean; settings?: string; role?: string }, isKept) => {
    const folder = mkdtempSync(join(tmpdir(), 'capstan-guard-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const { content } = scripts.find(({ name }) => name === 'kubernetes-install')!;
    // This machine may have an etcd.
    const guard = /^guard_bootstrap\(\) \{[\s\S]*?^\}/m.exec(content)![0].replace('/proc/net/tcp', '/dev/null');
    const etcd = join(folder, 'server/db/etcd');
    mkdirSync(etcd, { recursive: true });
    writeFileSync(join(folder, 'config.yaml'), `token: "secret"\n${settings}`);
    if (!isFormed) writeFileSync(join(folder, 'forming'), '');
    const script = `own=${folder} data=${folder} config=${folder} program=k3s role=${role}\n${guard}\nguard_bootstrap\n"$own/before-start" "$role"`;
    execFileSync('sh', ['-euc', script]);
    expect(existsSync(etcd)).toBe(isKept);
  },
);

const routeFunctions = (): string => {
  const { content } = scripts.find(({ name }) => name === 'kubernetes-uninstall')!;
  return [/^pod_routes\(\) .*$/m, /^family_of\(\) .*$/m, /^pod_routes "\$pods".*$/m].map((line) => line.exec(content)![0]).join('\n');
};

// Networks of its own are all that it changes.
describe.skipIf(process.getuid?.() !== 0)('the removal of a cluster', () => {
  test.each([
    ['10.42.0.0/16', ['10.99.1.0/24', '10.142.1.0/24', 'blackhole 203.0.113.0/24']],
    ['10.99.0.0/16', ['10.42.1.0/24', '10.142.1.0/24', 'blackhole 10.42.3.0/26', 'blackhole 203.0.113.0/24']],
    ['fd00:42::/56', ['10.42.1.0/24', '10.99.1.0/24', '10.142.1.0/24', 'blackhole 10.42.3.0/26', 'blackhole 203.0.113.0/24']],
  ])('deletes the routes to pods in %s, and no others', (pods, left) => {
    const routes = [
      '10.42.1.0/24 dev lo',
      '10.99.1.0/24 dev lo',
      '10.142.1.0/24 dev lo',
      'blackhole 10.42.3.0/26',
      'blackhole 203.0.113.0/24',
    ];
    const script = [
      'ip link set lo up',
      ...routes.map((route) => `ip route add ${route}`),
      'ip route add fd00:42:0:1::/64 dev lo',
      'ip route add fd00:43::/64 dev lo',
      routeFunctions(),
      'ip route',
      'ip -6 route',
    ];
    const found = execFileSync('unshare', ['--net', 'sh', '-uc', `pods=${pods}\n${script.join('\n')}`], { encoding: 'utf8' });
    const [v4, v6] = [
      found.split('\n').filter((line) => /^(blackhole )?\d+\./.test(line)),
      found.split('\n').filter((line) => line.startsWith('fd00:')),
    ];
    expect(v4.map((line) => line.replace(/ (dev|proto) .*$/, '').trim())).toEqual(expect.arrayContaining(left));
    expect(v4).toHaveLength(left.length);
    expect(v6.map((line) => line.split(' ')[0])).toEqual(pods.startsWith('fd') ? ['fd00:43::/64'] : ['fd00:42:0:1::/64', 'fd00:43::/64']);
  });
});

test('everything that is removed is looked for afterwards', () => {
  const content = (name: string): string => scripts.find((one) => one.name === `kubernetes-${name}`)!.content;
  expect(content('uninstall')).toContain('rm -rf "$config" "$data" $files');
  expect(content('residue')).toContain('for path in "$config" "$data" $files');
});
