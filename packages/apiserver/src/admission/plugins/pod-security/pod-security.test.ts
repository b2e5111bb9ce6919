import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../../testing/harness.ts';

const label = 'pod-security.kubernetes.io/';
let server: TestServer;
let namespace = '';
let namespaces = 0;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(() => {
  namespace = `safe-${++namespaces}`;
});

const post = (path: string, body: unknown): Promise<Reply> => server.call(path, { method: 'POST', body });

const demand = (labels: Record<string, string>): Promise<Reply> =>
  post('/api/v1/namespaces', {
    metadata: { name: namespace, labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [label + key, value])) },
  });

const relabel = (labels: Record<string, string | null>): Promise<Reply> =>
  server.call(`/api/v1/namespaces/${namespace}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [label + key, value])) } },
  });

const pod = (spec: JsonObject, query = '?dryRun=All', name = 'p'): Promise<Reply> =>
  post(`/api/v1/namespaces/${namespace}/pods${query}`, { metadata: { name }, spec });

const patchPod = (path: string, spec: JsonObject): Promise<Reply> =>
  server.call(`/api/v1/namespaces/${namespace}/pods/${path}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
    body: { spec },
  });

const one = (securityContext: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  containers: [{ name: 'a', image: 'i', securityContext, ...more }],
});

const harmless: JsonObject = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

const warningsOf = ({ headers }: Reply): string =>
  String(headers['warning'] ?? '')
    .replaceAll('299 - ', '')
    .replaceAll('\\"', "'");

describe('a baseline namespace', () => {
  beforeEach(() => demand({ enforce: 'baseline' }));

  it('accepts an ordinary pod', async () => {
    const reply = await pod(one());
    expect([reply.code, warningsOf(reply)]).toEqual([201, '']);
  });

  it.each<[string, JsonObject, string]>([
    ['privileges', one({ privileged: true }), 'privileged (container "a" must not set securityContext.privileged=true)'],
    ['host namespaces', { ...one(), hostPID: true, hostIPC: true }, 'host namespaces (hostPID=true, hostIPC=true)'],
    ['host paths', { ...one(), volumes: [{ name: 'v', hostPath: { path: '/' } }] }, 'hostPath volumes (volume "v")'],
    [
      'host ports',
      {
        containers: [
          { name: 'a', image: 'i', ports: [{ containerPort: 1, hostPort: 9 }] },
          { name: 'b', image: 'i', ports: [{ containerPort: 2, hostPort: 80 }] },
        ],
      },
      'hostPort (containers "a", "b" use hostPorts 80, 9)',
    ],
    [
      'probes of other hosts',
      one({}, { livenessProbe: { httpGet: { port: 1, host: 'h' } } }),
      'probe or lifecycle host (container "a" uses probe or lifecycle host "h")',
    ],
    [
      'extra capabilities',
      one({ capabilities: { add: ['SYS_TIME', 'CHOWN', 'NET_RAW'] } }),
      'non-default capabilities (container "a" must not include "NET_RAW", "SYS_TIME" in securityContext.capabilities.add)',
    ],
    [
      'unconfined profiles',
      { ...one({ seccompProfile: { type: 'Unconfined' } }), securityContext: { appArmorProfile: { type: 'Unconfined' } } },
      'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined"), ' +
        'seccompProfile (container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'custom SELinux labels',
      { ...one({ seLinuxOptions: { role: 'r' } }), securityContext: { seLinuxOptions: { type: 'spc_t', user: 'u' } } },
      'seLinuxOptions (pod and container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [
      'unsafe sysctls',
      { ...one(), securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } },
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      'Windows host processes',
      { ...one(), hostNetwork: true, securityContext: { windowsOptions: { hostProcess: true } } },
      'host namespaces (hostNetwork=true), hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    [
      'an unmasked /proc',
      { ...one({ procMount: 'Unmasked' }), hostUsers: false },
      'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
    ],
  ])('rejects pods that use %s', async (_, spec, why) => {
    const reply = await pod(spec);
    expect([reply.code, reply.json().message]).toEqual([403, `pods "p" is forbidden: violates PodSecurity "baseline:latest": ${why}`]);
  });

  it('checks updates of pods only if images or containers change', async () => {
    await relabel({ enforce: null });
    await pod(one({ privileged: true }), '');
    await relabel({ enforce: 'baseline' });
    expect((await patchPod('p', { activeDeadlineSeconds: 5 })).code).toBe(200);
    expect((await patchPod('p', { containers: [{ name: 'a', image: 'other' }] })).code).toBe(403);
    expect((await patchPod('p/ephemeralcontainers', { ephemeralContainers: [{ name: 'd', image: 'i' }] })).code).toBe(403);
  });
});

describe('a restricted namespace', () => {
  it('accepts a fully restricted pod', async () => {
    await demand({ enforce: 'restricted' });
    expect((await pod(one(harmless))).code).toBe(201);
  });

  it('reports all violations of a pod', async () => {
    await demand({ enforce: 'restricted' });
    const spec = { ...one({ runAsUser: 0, capabilities: { add: ['CHOWN'] } }), volumes: [{ name: 'v', nfs: { server: 's', path: '/' } }] };
    expect((await pod(spec)).json().message).toBe(
      'pods "p" is forbidden: violates PodSecurity "restricted:latest": ' +
        'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), ' +
        'unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]; ' +
        'container "a" must not include "CHOWN" in securityContext.capabilities.add), ' +
        'restricted volume types (volume "v" uses restricted volume type "nfs"), ' +
        'runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), ' +
        'runAsUser=0 (container "a" must not set runAsUser=0), ' +
        'seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    );
  });

  it.each([
    ['v1.7', 'runAsNonRoot != true'],
    ['v1.8', 'allowPrivilegeEscalation != false, runAsNonRoot != true'],
    ['v1.19', 'allowPrivilegeEscalation != false, runAsNonRoot != true, seccompProfile'],
    ['v1.22', 'allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile'],
    ['v1.99', 'allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile'],
  ])('uses the checks of version %s', async (version, reasons) => {
    await demand({ enforce: 'restricted', 'enforce-version': version });
    const message = (await pod(one())).json().message!;
    const found = [...message.split(`"restricted:${version}": `)[1]!.matchAll(/(?:^|\), )([^()]+) \(/g)].map(([, reason]) => reason);
    expect(found.join(', ')).toBe(reasons);
  });
});

describe('workload templates', () => {
  const template = { metadata: { labels: { a: 'b' } }, spec: one({ privileged: true }) };
  const selector = { matchLabels: { a: 'b' } };
  const forJob = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };

  it.each<[string, JsonObject]>([
    ['apps/v1/deployments', { spec: { selector, template } }],
    ['apps/v1/replicasets', { spec: { selector, template } }],
    ['apps/v1/daemonsets', { spec: { selector, template } }],
    ['apps/v1/statefulsets', { spec: { selector, serviceName: 's', template } }],
    ['batch/v1/jobs', { spec: { template: forJob } }],
    ['batch/v1/cronjobs', { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: forJob } } } }],
    ['v1/podtemplates', { template }],
    ['v1/replicationcontrollers', { spec: { selector: { a: 'b' }, template } }],
  ])('in %s cause a warning and are accepted', async (kind, body) => {
    await demand({ enforce: 'baseline' });
    const [version, resource] = [kind.slice(0, kind.lastIndexOf('/')), kind.slice(kind.lastIndexOf('/') + 1)];
    const path = `/${version === 'v1' ? 'api' : 'apis'}/${version}/namespaces/${namespace}/${resource}?dryRun=All`;
    const reply = await post(path, { metadata: { name: 'w' }, ...body });
    expect(reply.code).toBe(201);
    expect(warningsOf(reply)).toContain("would violate PodSecurity 'baseline:latest': privileged (container 'a' must not set");
  });
});

describe('modes', () => {
  it('warn: does not reject pods', async () => {
    await demand({ warn: 'baseline', 'warn-version': 'v1.20' });
    const reply = await pod({ ...one(), hostPID: true });
    expect([reply.code, warningsOf(reply)]).toEqual([201, `"would violate PodSecurity 'baseline:v1.20': host namespaces (hostPID=true)"`]);
  });

  it('audit: only writes to the audit log', async () => {
    await demand({ audit: 'baseline' });
    const reply = await pod({ ...one(), hostPID: true }, '?fieldManager=noted');
    expect([reply.code, warningsOf(reply)]).toEqual([201, '']);
    await expect
      .poll(() => readFile(join(server.directory, 'audit.log'), 'utf8'))
      .toContain('would violate PodSecurity \\"baseline:latest\\": host namespaces (hostPID=true)');
  });
});

describe('the labels of a namespace', () => {
  it('must be valid levels and versions when they change', async () => {
    const reply = await demand({ enforce: 'strict', 'warn-version': '1.30' });
    expect([reply.code, reply.json().message]).toEqual([
      422,
      `Namespace "${namespace}" is invalid: [metadata.labels[${label}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, ` +
        `metadata.labels[${label}warn-version]: Invalid value: "1.30": must be "latest" or "v1.x"]`,
    ]);
    await demand({});
    expect((await relabel({ audit: '' })).code).toBe(422);
  });

  it('cause warnings about existing pods that violate the new level', async () => {
    await demand({});
    for (const name of ['c', 'b', 'a']) await pod(one({ privileged: true }), '', name);
    await pod({ ...one(), hostNetwork: true }, '', 'z');
    expect(warningsOf(await relabel({ enforce: 'baseline' }))).toBe(
      `"existing pods in namespace '${namespace}' violate the new PodSecurity enforce level 'baseline:latest'", ` +
        '"a (and 2 other pods): privileged", "z: host namespaces"',
    );
    expect(warningsOf(await relabel({ enforce: 'privileged' }))).toBe('');
  });
});
