import type { JsonObject } from '@capstan/machinery';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';

let server: TestServer;
let namespace = '';
let namespaces = 0;

const post = (path: string, body: unknown): Promise<Reply> => server.call(path, { method: 'POST', body });
const inNamespace = (resource: string, body: unknown): Promise<Reply> => post(`/api/v1/namespaces/${namespace}/${resource}`, body);

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  namespace = `test-${++namespaces}`;
  await post('/api/v1/namespaces', { metadata: { name: namespace } });
});

const container = (name: string, resources: JsonObject = {}): JsonObject => ({ name, image: 'i', resources });

const pod = (containers: JsonObject[], more: JsonObject = {}): Promise<Reply> =>
  inNamespace('pods?dryRun=All', { metadata: { name: 'p' }, spec: { containers, ...more } });

const claim = (storage: string): Promise<Reply> =>
  inNamespace('persistentvolumeclaims?dryRun=All', {
    metadata: { name: 'c' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
  });

interface PodSpec {
  readonly containers: { readonly resources: unknown; readonly volumeMounts?: unknown[] }[];
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: unknown;
  readonly volumes?: { readonly name: string; readonly projected: { readonly sources: unknown[] } }[];
}
const specOf = (reply: Reply): PodSpec => reply.json()['spec'] as unknown as PodSpec;

describe('limit ranges', () => {
  const limit = (...limits: JsonObject[]): Promise<Reply> => inNamespace('limitranges', { metadata: { name: 'l' }, spec: { limits } });

  it('set default resources of containers, and record it in an annotation', async () => {
    await limit({ type: 'Container', default: { cpu: '500m', memory: '64Mi' }, defaultRequest: { cpu: '100m' } });
    const reply = await pod([container('a'), container('b', { limits: { cpu: '1' } })]);
    expect(specOf(reply).containers.map(({ resources }) => resources)).toEqual([
      { limits: { cpu: '500m', memory: '64Mi' }, requests: { cpu: '100m', memory: '64Mi' } },
      { limits: { cpu: '1', memory: '64Mi' }, requests: { cpu: '1', memory: '64Mi' } },
    ]);
    expect(reply.json().metadata.annotations).toEqual({
      'kubernetes.io/limit-ranger':
        'LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; memory request for container b; memory limit for container b',
    });
  });

  it.each<[string, JsonObject, JsonObject[], string]>([
    [
      'too much',
      { type: 'Container', max: { cpu: '1' } },
      [container('a', { limits: { cpu: '2' } })],
      'maximum cpu usage per Container is 1, but limit is 2',
    ],
    [
      'too little',
      { type: 'Container', min: { cpu: '50m' } },
      [container('a', { requests: { cpu: '10m' } })],
      'minimum cpu usage per Container is 50m, but request is 10m',
    ],
    [
      'too much in total',
      { type: 'Pod', max: { cpu: '1500m' } },
      [container('a', { limits: { cpu: '1' } }), container('b', { limits: { cpu: '1' } })],
      'maximum cpu usage per Pod is 1500m, but limit is 2',
    ],
    [
      'limits too far from requests',
      { type: 'Container', maxLimitRequestRatio: { memory: '2' } },
      [container('a', { requests: { memory: '16Mi' }, limits: { memory: '64Mi' } })],
      'memory max limit to request ratio per Container is 2, but provided ratio is 4.000000',
    ],
  ])('reject pods with %s', async (_, range, containers, why) => {
    await limit(range);
    const reply = await pod(containers);
    expect([reply.code, reply.json().message]).toEqual([403, `pods "p" is forbidden: ${why}`]);
  });

  it.each([
    ['500Mi', 'persistentvolumeclaims "c" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi'],
    ['6Gi', 'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi'],
  ])('reject claims for %s', async (storage, message) => {
    await limit({ type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '5Gi' } });
    expect((await claim(storage)).json().message).toBe(message);
    expect((await claim('2Gi')).code).toBe(201);
  });
});

describe('service accounts', () => {
  it('are set on pods, with a token and image pull secrets', async () => {
    await inNamespace('serviceaccounts', { metadata: { name: 'default' }, imagePullSecrets: [{ name: 'registry' }] });
    const spec = specOf(await pod([container('a')]));
    const [volume] = spec.volumes ?? [];
    expect(spec).toMatchObject({ serviceAccountName: 'default', imagePullSecrets: [{ name: 'registry' }] });
    expect(volume?.name).toMatch(/^kube-api-access-.{5}$/);
    expect(volume?.projected.sources).toHaveLength(3);
    expect(spec.containers[0]?.volumeMounts).toEqual([
      { name: volume?.name, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ]);
  });

  it('come without a token for pods that disable it', async () => {
    await inNamespace('serviceaccounts', { metadata: { name: 'default' } });
    expect(specOf(await pod([container('a')], { automountServiceAccountToken: false }))).not.toHaveProperty('volumes');
  });

  it('must exist if a pod names one', async () => {
    expect((await pod([container('a')], { serviceAccountName: 'nope' })).json().message).toBe(
      `pods "p" is forbidden: error looking up service account ${namespace}/nope: serviceaccount "nope" not found`,
    );
  });

  it('are not set if the default account does not exist', async () => {
    expect(specOf(await pod([container('a')]))).not.toHaveProperty('serviceAccountName');
  });
});

describe('classes', () => {
  it('are set on claims and ingresses without one', async () => {
    const isDefault = (prefix: string) => ({ [`${prefix}.kubernetes.io/is-default-class`]: 'true' });
    const storage = { metadata: { name: 'fast', annotations: isDefault('storageclass') }, provisioner: 'example.com/fast' };
    const ingress = { metadata: { name: 'front', annotations: isDefault('ingressclass') }, spec: { controller: 'example.com/front' } };
    await post('/apis/storage.k8s.io/v1/storageclasses', storage);
    await post('/apis/networking.k8s.io/v1/ingressclasses', ingress);
    const spec = { defaultBackend: { service: { name: 'x', port: { number: 80 } } } };
    const made = await post(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, { metadata: { name: 'i' }, spec });
    expect([(await claim('1Gi')).json()['spec'], made.json()['spec']]).toMatchObject([
      { storageClassName: 'fast' },
      { ingressClassName: 'front' },
    ]);
  });

  it('of priority have at most one default', async () => {
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    await post(classes, { metadata: { name: 'usual' }, value: 10, globalDefault: true });
    expect((await post(classes, { metadata: { name: 'other' }, value: 20, globalDefault: true })).json().message).toBe(
      'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
    );
    expect((await pod([container('a')], { priority: 7 })).json().message).toBe(
      'pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 10 from the given PriorityClass name',
    );
  });

  it('of priority set the numeric priority of pods', async () => {
    await post('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name: 'high' }, value: 7, preemptionPolicy: 'Never' });
    const named = async (priorityClassName: string): Promise<Reply> => pod([container('a')], { priorityClassName });
    expect(specOf(await named('high'))).toMatchObject({ priority: 7, preemptionPolicy: 'Never' });
    expect(specOf(await named('system-node-critical'))).toMatchObject({ priority: 2_000_001_000 });
    expect((await named('nope')).json().message).toBe('pods "p" is forbidden: no PriorityClass with name nope was found');
  });
});

describe('pods', () => {
  it('tolerate node problems for a while, unless they set their own tolerations', async () => {
    const forever = { key: 'node.kubernetes.io/unreachable', operator: 'Exists' };
    const patient = { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
    expect(specOf(await pod([container('a')], { tolerations: [forever] }))).toMatchObject({ tolerations: [forever, patient] });
  });

  it('keep their priority in updates that omit it', async () => {
    const made = await inNamespace('pods', { metadata: { name: 'kept' }, spec: { containers: [container('a')] } });
    const spec = { ...(made.json()['spec'] as JsonObject), priority: undefined, preemptionPolicy: undefined };
    const reply = await server.call(`/api/v1/namespaces/${namespace}/pods/kept`, { method: 'PUT', body: { ...made.json(), spec } });
    expect(specOf(reply)).toMatchObject({ preemptionPolicy: 'PreemptLowerPriority' });
  });
});
