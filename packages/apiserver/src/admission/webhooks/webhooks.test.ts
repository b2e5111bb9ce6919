import type { KubeObject } from '@capstan/machinery';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Reply, startTestServer, type TestServer } from '../../testing/harness.ts';
import { type Answer, patch, type Question, register, review, TestWebhook, unregisterAll } from './testing.ts';

const allowed: Answer = { response: { allowed: true } };
let server: TestServer;
let webhook: TestWebhook;
let answer: (question: Question) => Answer = () => allowed;
let made = 0;

beforeAll(async () => {
  server = await startTestServer();
  webhook = await TestWebhook.start((question) => answer(question));
  await server.call('/api/v1/namespaces', { method: 'POST', body: { metadata: { name: 'test' } } });
});

afterAll(async () => {
  await webhook[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

beforeEach(() => {
  answer = () => allowed;
  webhook.questions.length = 0;
});

afterEach(() => unregisterAll(server));

const configMaps = '/api/v1/namespaces/test/configmaps';

function create(object: Partial<KubeObject> = {}, query = ''): Promise<Reply> {
  const metadata = { name: `made-${++made}`, ...object.metadata };
  return server.call(`${configMaps}${query}`, { method: 'POST', body: { data: { a: '1' }, ...object, metadata } });
}

const mutating = (...paths: string[]): Promise<void> =>
  register(
    server,
    'mutating',
    'hooks',
    paths.map((path) => ({ name: `${path}.test.io`, clientConfig: webhook.at(path) })),
  );

const validating = (...paths: string[]): Promise<void> =>
  register(
    server,
    'validating',
    'hooks',
    paths.map((path) => ({ name: `${path}.test.io`, clientConfig: webhook.at(path) })),
  );

const addData = (key: string, value = 'yes'): Answer => ({ response: patch([{ op: 'add', path: `/data/${key}`, value }]) });
const dataOf = (reply: Reply): unknown => reply.json()['data'];
const paths = (): string[] => webhook.questions.map(({ path }) => path.slice(1));

describe('mutating webhooks', () => {
  it('change what is stored, without owning it', async () => {
    answer = () => addData('added');
    await mutating('add');
    const reply = await create();
    expect(dataOf(reply)).toEqual({ a: '1', added: 'yes' });
    expect(reply.json().metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([{ 'f:data': { '.': {}, 'f:a': {} } }]);
  });

  it('are asked by configuration name, then in the order in which they stand there, each about what the one before made', async () => {
    answer = ({ path, request }) => addData(path.slice(1), String(Object.keys(request.object['data'] as object).length));
    await register(server, 'mutating', 'zz', [{ name: 'last.test.io', clientConfig: webhook.at('last') }]);
    await register(server, 'mutating', 'aa', [
      { name: 'z.test.io', clientConfig: webhook.at('first') },
      { name: 'a.test.io', clientConfig: webhook.at('second') },
    ]);
    expect(dataOf(await create())).toEqual({ a: '1', first: '1', second: '2', last: '3' });
  });

  it('are asked once more, when they want to, after others changed the object', async () => {
    const seen = new Set<string>();
    answer = ({ path }) => (seen.size < seen.add(path).size ? addData(path.slice(1)) : allowed);
    const again = { reinvocationPolicy: 'IfNeeded' };
    await register(server, 'mutating', 'hooks', [
      { name: 'one.test.io', clientConfig: webhook.at('one'), ...again },
      { name: 'never.test.io', clientConfig: webhook.at('never') },
      { name: 'two.test.io', clientConfig: webhook.at('two'), ...again },
    ]);
    await create();
    expect(paths()).toEqual(['one', 'never', 'two', 'one']);
  });

  it('see what the defaults make of their changes, and their changes are validated', async () => {
    answer = () => ({ response: patch([{ op: 'add', path: '/data', value: { 'a b': '1' } }]) });
    await mutating('bad');
    const reply = await create();
    expect(reply.code).toBe(422);
    expect(reply.json().message).toContain('data[a b]: Invalid value');
  });

  it('see a name to be generated before it is, validating ones after', async () => {
    await mutating('m');
    await validating('v');
    await server.call(configMaps, { method: 'POST', body: { metadata: { generateName: 'gen-' } } });
    expect(webhook.questions.map(({ request }) => request.name ?? '')).toEqual(['', expect.stringMatching(/^gen-.{5}$/)]);
  });

  it('cannot change what is deleted', async () => {
    const name = (await create()).json().metadata.name!;
    answer = () => addData('x');
    await mutating('add');
    const reply = await server.call(`${configMaps}/${name}`, { method: 'DELETE' });
    expect(reply.json().message).toBe(
      'Internal error occurred: admission webhook "add.test.io" attempted to modify the object, which is not supported for this operation',
    );
  });

  it('cannot move an object to another namespace', async () => {
    answer = () => ({ response: patch([{ op: 'replace', path: '/metadata/namespace', value: 'default' }]) });
    await mutating('move');
    expect((await create()).json().message).toBe('the namespace of the provided object does not match the namespace sent on the request');
  });

  it('cannot break the record of who owns what', async () => {
    const entry = { manager: 'x', operation: 'Bad', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} };
    answer = () => ({ response: patch([{ op: 'add', path: '/metadata/managedFields', value: [entry] }]) });
    await mutating('break');
    const reply = await create();
    expect(reply.headers['warning']).toContain('.metadata.managedFields was in an invalid state after admission');
    expect(reply.json().metadata.managedFields?.[0]?.manager).toBe('test');
  });
});

describe('what a webhook is told', () => {
  it('names operation, user, object and options', async () => {
    await validating('v');
    await create({ metadata: { name: 'told' } }, '?fieldManager=me&dryRun=All');
    expect(webhook.questions[0]).toMatchObject({
      apiVersion: 'admission.k8s.io/v1',
      request: {
        operation: 'CREATE',
        name: 'told',
        namespace: 'test',
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        object: { kind: 'ConfigMap', metadata: { name: 'told' } },
        oldObject: null,
        dryRun: true,
        options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', fieldManager: 'me', dryRun: ['All'] },
      },
    });
  });

  it('has old and new object of an update, and only the old one of a deletion', async () => {
    const name = (await create()).json().metadata.name!;
    await validating('v');
    const headers = { 'content-type': 'application/merge-patch+json' };
    await server.call(`${configMaps}/${name}`, { method: 'PATCH', headers, body: { data: { a: '2' } } });
    await server.call(`${configMaps}/${name}?gracePeriodSeconds=3`, { method: 'DELETE' });
    expect(webhook.questions.map(({ request }) => [request.operation, request.oldObject?.['data'], request.object?.['data']])).toEqual([
      ['UPDATE', { a: '1' }, { a: '2' }],
      ['DELETE', { a: '2' }, undefined],
    ]);
    expect(webhook.questions[1]?.request.options).toMatchObject({ kind: 'DeleteOptions', gracePeriodSeconds: 3 });
  });

  it('is one question for each object of a collection that is deleted', async () => {
    await server.call(configMaps, { method: 'DELETE' });
    await create();
    await create();
    await validating('v');
    await server.call(configMaps, { method: 'DELETE' });
    expect(webhook.questions.map(({ request }) => [request.operation, request.name])).toEqual([
      ['DELETE', undefined],
      ['DELETE', undefined],
    ]);
  });

  it('is a Scale when something is scaled, and what it makes of it counts', async () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { metadata: { name: 'scaled' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
    const deployments = '/apis/apps/v1/namespaces/test/deployments';
    await server.call(deployments, { method: 'POST', body });
    answer = () => ({ response: patch([{ op: 'replace', path: '/spec/replicas', value: 7 }]) });
    const rules = [{ operations: ['UPDATE'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/scale'] }];
    await register(server, 'mutating', 'hooks', [{ name: 'scale.test.io', clientConfig: webhook.at('scale'), rules }]);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const scaled = await server.call(`${deployments}/scaled/scale`, { method: 'PATCH', headers, body: { spec: { replicas: 3 } } });
    expect(webhook.questions[0]?.request).toMatchObject({
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      subResource: 'scale',
      object: { kind: 'Scale', spec: { replicas: 3 } },
    });
    expect(scaled.json()['spec']).toEqual({ replicas: 7 });
  });

  it('is in the version that the webhook asks for, when it takes equivalents', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['*'] }];
    answer = () => ({ response: patch([{ op: 'replace', path: '/spec/maxReplicas', value: 9 }]) });
    await register(server, 'mutating', 'hooks', [
      { name: 'exact.test.io', clientConfig: webhook.at('exact'), rules, matchPolicy: 'Exact' },
      { name: 'any.test.io', clientConfig: webhook.at('any'), rules },
    ]);
    const spec = { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } };
    const body = { metadata: { name: 'hpa' }, spec };
    const reply = await server.call('/apis/autoscaling/v2/namespaces/test/horizontalpodautoscalers', { method: 'POST', body });
    expect(paths()).toEqual(['any']);
    expect(webhook.questions[0]?.request).toMatchObject({
      kind: { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' },
      requestKind: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
      object: { apiVersion: 'autoscaling/v1' },
    });
    expect(reply.json()).toMatchObject({ apiVersion: 'autoscaling/v2', spec: { maxReplicas: 9 } });
  });

  it('is in the older review version for those who only know that', async () => {
    answer = (question) => ({ body: review(question, { allowed: true }).replace(question.request.uid, 'any') });
    await register(server, 'validating', 'hooks', [
      { name: 'old.test.io', clientConfig: webhook.at('old'), admissionReviewVersions: ['v1beta1'] },
    ]);
    expect((await create()).code).toBe(201);
    expect(webhook.questions[0]?.apiVersion).toBe('admission.k8s.io/v1beta1');
  });
});

describe('who is asked', () => {
  it.each([
    ['selected by its labels', { objectSelector: { matchLabels: { ask: 'yes' } } }, 1],
    ['not selected by its labels', { objectSelector: { matchLabels: { ask: 'no' } } }, 0],
    ['in a namespace that is not selected', { namespaceSelector: { matchLabels: { nope: 'x' } } }, 0],
    ['of another operation', { rules: [{ operations: ['UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }] }, 0],
    ['of another resource', { rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['secrets'] }] }, 0],
    ['of any resource', { rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }] }, 1],
    ['of another scope', { rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: 'Cluster' }] }, 0],
    ['that meets the conditions', { matchConditions: [{ name: 'c', expression: "object.data.a == '1'" }] }, 1],
    ['that does not meet the conditions', { matchConditions: [{ name: 'c', expression: "object.data.a == '2'" }] }, 0],
  ])('about an object %s', async (_, settings, calls) => {
    await register(server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: webhook.at('v'), ...settings }]);
    expect((await create({ metadata: { labels: { ask: 'yes' } } })).code).toBe(201);
    expect(webhook.questions).toHaveLength(calls);
  });

  it('is nobody when a condition cannot be evaluated: the request is refused', async () => {
    const matchConditions = [{ name: 'c', expression: 'object.nope == 1' }];
    await register(server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: webhook.at('v'), matchConditions }]);
    const reply = await create({ metadata: { name: 'cond' } });
    expect([reply.code, reply.json().message]).toEqual([
      403,
      `configmaps "cond" is forbidden: expression 'object.nope == 1' resulted in error: no such key: nope`,
    ]);
  });

  it('is never about webhooks and policies themselves', async () => {
    answer = () => ({ response: { allowed: false } });
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }];
    await register(server, 'validating', 'hooks', [{ name: 'all.test.io', clientConfig: webhook.at('all'), rules, namespaceSelector: {} }]);
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks';
    expect((await server.call(path, { method: 'DELETE' })).code).toBe(200);
  });

  it('is found through a service, under the name that its certificate is for', async () => {
    const body = { metadata: { name: 'hook' }, spec: { type: 'ExternalName', externalName: 'localhost' } };
    await server.call('/api/v1/namespaces/test/services', { method: 'POST', body });
    const { caBundle } = webhook.at();
    const service = { namespace: 'test', name: 'hook', path: '/by-service', port: webhook.port };
    await register(server, 'validating', 'hooks', [{ name: 'service.test.io', clientConfig: { caBundle: caBundle!, service } }]);
    expect((await create()).code).toBe(201);
    expect(paths()).toEqual(['by-service']);
  });
});

describe('a webhook that says no', () => {
  it.each([
    [{}, 400, 'admission webhook "v.test.io" denied the request without explanation'],
    [{ status: { message: 'no way', code: 403, reason: 'Forbidden' } }, 403, 'admission webhook "v.test.io" denied the request: no way'],
    [{ status: { reason: 'Because' } }, 400, 'admission webhook "v.test.io" denied the request: Because'],
    [{ status: { message: 'odd', code: 200, status: 'Success' } }, 400, 'admission webhook "v.test.io" denied the request: odd'],
  ])('%j', async (response, code, message) => {
    answer = () => ({ response: { allowed: false, ...response } });
    await validating('v');
    const reply = await create();
    expect([reply.code, reply.json().message, reply.json()['status']]).toEqual([code, message, 'Failure']);
  });

  it('decides, though others have nothing against it', async () => {
    answer = ({ path }) => ({ response: { allowed: path !== '/no', warnings: [`from ${path}`] } });
    await validating('yes', 'no', 'too');
    const reply = await create();
    expect(reply.json().message).toBe('admission webhook "no.test.io" denied the request without explanation');
    expect(reply.headers['warning']).toContain('from /too');
  });
});

describe('a webhook that cannot be asked', () => {
  const never = new Promise<never>(() => {});
  const failures: [string, (question: Question) => Answer, string | RegExp][] = [
    ['hangs up', () => undefined, /failed to call webhook: Post "https:.*": EOF$/],
    ['does not answer', () => ({ wait: never }), /failed to call webhook: Post "https:.*\?timeout=1s": context deadline exceeded$/],
    ['answers with an error', () => ({ body: 'boom', code: 500 }), /an error on the server \("boom"\) has prevented the request/],
    ['is not there', () => ({ body: '', code: 404 }), /the server could not find the requested resource$/],
    ['answers nothing', () => ({ body: '' }), /0-length response with status code: 200/],
    ['answers no JSON', () => ({ body: 'hello' }), /couldn't get version\/kind; json parse error/],
    ['answers another kind', () => ({ body: '{"kind":"Pod","apiVersion":"v1"}' }), /no kind "Pod" is registered for version "v1"/],
    ['answers without a response', () => ({ body: '{}' }), /received invalid webhook response: webhook response was absent$/],
    [
      'answers somebody else',
      (question) => ({ body: review(question, { uid: 'other', allowed: true }) }),
      /expected response.uid="[-0-9a-f]{36}", got "other"$/,
    ],
    ['answers without end', () => ({ body: 'x'.repeat(17 << 20) }), /the answer is larger than 16777216 bytes$/],
    ['answers in wrong types', (question) => ({ body: review(question, { allowed: 'yes' }) }), /cannot unmarshal string .* of type bool$/],
    ['patches, though it only validates', () => addData('x'), /validating webhook may not return response.patch$/],
  ];

  it.each(failures)('refuses the request when it %s', async (_, failing, message) => {
    answer = failing;
    await validating('v');
    const reply = await create();
    expect([reply.code, reply.json().reason]).toEqual([500, 'InternalError']);
    expect(reply.json().message).toMatch(/^Internal error occurred: failed calling webhook "v\.test\.io": /);
    expect(reply.json().message).toMatch(message);
  });

  it.each(failures)('is passed over, if it may be, when it %s', async (_, failing) => {
    answer = failing;
    await register(server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: webhook.at('v'), failurePolicy: 'Ignore' }]);
    expect((await create()).code).toBe(201);
  });

  it('says which certificate it does not trust', async () => {
    const { url } = webhook.at('v');
    await register(server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: { url: url! } }]);
    expect((await create()).json().message).toMatch(/x509: certificate signed by unknown authority$/);
  });

  it('holds up nobody else', async () => {
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    answer = () => {
      asked.resolve();
      return { wait: release.promise };
    };
    await register(server, 'validating', 'hooks', [
      { name: 'v.test.io', clientConfig: webhook.at('v'), failurePolicy: 'Ignore', timeoutSeconds: 30 },
    ]);
    const slow = create();
    await asked.promise;
    const other = await server.call('/api/v1/namespaces/default/configmaps', { method: 'POST', body: { metadata: { name: 'quick' } } });
    release.resolve();
    expect([other.code, (await slow).code]).toEqual([201, 201]);
  });
});

describe('a patch that does not fit', () => {
  it.each([
    ['no JSON', 'nope', /received undecodable patch in webhook response: invalid character/],
    ['no list', '{}', /json: cannot unmarshal object into Go value of type jsonpatch\.Patch$/],
    ['a place that is not there', [{ op: 'replace', path: '/nope/x', value: 1 }], /doc is missing path: \/nope\/x: missing value$/],
    ['a test that fails', [{ op: 'test', path: '/kind', value: 'x' }], /testing value \/kind failed: test failed$/],
    ['an unknown operation', [{ op: 'zap', path: '/x' }], /Unexpected kind: zap$/],
    ['a wrong type', [{ op: 'add', path: '/data', value: [1] }], /cannot unmarshal array into Go struct field ConfigMap\.data/],
    ['another kind', [{ op: 'replace', path: '/kind', value: 'Other' }], /no kind "Other" is registered for version "v1"/],
    ['nothing but a value', [{ op: 'replace', path: '', value: [] }], /./],
  ])('is the fault of the webhook: %s', async (_, operations, message) => {
    answer = () => ({ response: patch(operations) });
    await mutating('m');
    const reply = await create();
    expect(reply.code).toBe(500);
    expect(reply.json().message).toMatch(message);
  });

  it('leaves out what the kind does not know', async () => {
    answer = () => ({ response: patch([{ op: 'add', path: '/bogus', value: 1 }]) });
    await mutating('m');
    const reply = await create();
    expect(reply.code).toBe(201);
    expect(reply.json()).not.toHaveProperty('bogus');
  });

  it('may bring keys that JavaScript takes for its own', async () => {
    answer = () => ({ response: patch('[{"op":"add","path":"/data/__proto__","value":"x"}]') });
    await mutating('m');
    const reply = await create();
    expect(reply.text).toContain('"__proto__":"x"');
  });
});
