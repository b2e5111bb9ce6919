import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../../testing/harness.ts';
import { addData, allowed, Bench, patch, register, review } from './testing.ts';

let bench: Bench;

beforeAll(async () => {
  bench = await Bench.start();
});

afterAll(() => bench[Symbol.asyncDispose]());

afterEach(() => bench.reset());

const configMaps = '/api/v1/namespaces/test/configmaps';
const dataOf = (reply: Reply): unknown => reply.json()['data'];
const paths = (): string[] => bench.webhook.questions.map(({ path }) => path.slice(1));

describe('mutating webhooks', () => {
  it('change the stored object without owning fields', async () => {
    bench.answer = () => addData('added');
    await bench.mutating('add');
    const reply = await bench.create();
    expect(dataOf(reply)).toEqual({ a: '1', added: 'yes' });
    expect(reply.json().metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([{ 'f:data': { '.': {}, 'f:a': {} } }]);
  });

  it('are called in order of configuration name, then of position, each with the result of the previous one', async () => {
    bench.answer = ({ path, request }) => addData(path.slice(1), String(Object.keys(request.object['data'] as object).length));
    await register(bench.server, 'mutating', 'zz', [{ name: 'last.test.io', clientConfig: bench.webhook.at('last') }]);
    await register(bench.server, 'mutating', 'aa', [
      { name: 'z.test.io', clientConfig: bench.webhook.at('first') },
      { name: 'a.test.io', clientConfig: bench.webhook.at('second') },
    ]);
    expect(dataOf(await bench.create())).toEqual({ a: '1', first: '1', second: '2', last: '3' });
  });

  it('are reinvoked, if they allow it, after others changed the object', async () => {
    const seen = new Set<string>();
    bench.answer = ({ path }) => (seen.size < seen.add(path).size ? addData(path.slice(1)) : allowed);
    const again = { reinvocationPolicy: 'IfNeeded' };
    await register(bench.server, 'mutating', 'hooks', [
      { name: 'one.test.io', clientConfig: bench.webhook.at('one'), ...again },
      { name: 'never.test.io', clientConfig: bench.webhook.at('never') },
      { name: 'two.test.io', clientConfig: bench.webhook.at('two'), ...again },
    ]);
    await bench.create();
    expect(paths()).toEqual(['one', 'never', 'two', 'one']);
  });

  it('see their changes defaulted, and their changes are validated', async () => {
    bench.answer = () => ({ response: patch([{ op: 'add', path: '/data', value: { 'a b': '1' } }]) });
    await bench.mutating('bad');
    const reply = await bench.create();
    expect(reply.code).toBe(422);
    expect(reply.json().message).toContain('data[a b]: Invalid value');
  });

  it('run before a name is generated, validating ones after', async () => {
    await bench.mutating('m');
    await bench.validating('v');
    await bench.server.call(configMaps, { method: 'POST', body: { metadata: { generateName: 'gen-' } } });
    expect(bench.webhook.questions.map(({ request }) => request.name ?? '')).toEqual(['', expect.stringMatching(/^gen-.{5}$/)]);
  });

  it('are called again when a concurrent write came first', async () => {
    const name = (await bench.create()).json().metadata.name!;
    const headers = { 'content-type': 'application/merge-patch+json' };
    const write = (data: object): Promise<Reply> =>
      bench.server.call(`${configMaps}/${name}`, { method: 'PATCH', headers, body: { data } });
    const between = Promise.withResolvers<void>();
    bench.answer = ({ request }) => {
      const data = request.object['data'] as Record<string, string>;
      if (data['second'] !== undefined) return allowed;
      // The first write waits until the second is done.
      if (bench.webhook.questions.length > 1) return allowed;
      write({ second: '2' }).then(() => between.resolve(), between.reject);
      return { after: between.promise, response: { allowed: true } };
    };
    await bench.mutating('slow');
    expect(dataOf(await write({ first: '1' }))).toEqual({ a: '1', first: '1', second: '2' });
    expect(bench.webhook.questions).toHaveLength(3);
  });

  it('cannot change an object in a deletion', async () => {
    const name = (await bench.create()).json().metadata.name!;
    bench.answer = () => addData('x');
    await bench.mutating('add');
    const reply = await bench.server.call(`${configMaps}/${name}`, { method: 'DELETE' });
    expect(reply.json().message).toBe(
      'Internal error occurred: admission webhook "add.test.io" attempted to modify the object, which is not supported for this operation',
    );
  });

  it('cannot move an object to another namespace', async () => {
    bench.answer = () => ({ response: patch([{ op: 'replace', path: '/metadata/namespace', value: 'default' }]) });
    await bench.mutating('move');
    expect((await bench.create()).json().message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });

  it('cannot corrupt the managed fields', async () => {
    const entry = { manager: 'x', operation: 'Bad', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} };
    bench.answer = () => ({ response: patch([{ op: 'add', path: '/metadata/managedFields', value: [entry] }]) });
    await bench.mutating('break');
    const reply = await bench.create();
    expect(reply.headers['warning']).toContain('.metadata.managedFields was in an invalid state after admission');
    expect(reply.json().metadata.managedFields?.[0]?.manager).toBe('test');
  });
});

describe('the review for a webhook', () => {
  it('contains the operation, user, object and options', async () => {
    await bench.validating('v');
    await bench.create({ metadata: { name: 'told' } }, '?fieldManager=me&dryRun=All');
    expect(bench.webhook.questions[0]).toMatchObject({
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

  it('contains both objects of an update, and only the old one of a deletion', async () => {
    const name = (await bench.create()).json().metadata.name!;
    await bench.validating('v');
    const headers = { 'content-type': 'application/merge-patch+json' };
    await bench.server.call(`${configMaps}/${name}`, { method: 'PATCH', headers, body: { data: { a: '2' } } });
    await bench.server.call(`${configMaps}/${name}?gracePeriodSeconds=3`, { method: 'DELETE' });
    expect(
      bench.webhook.questions.map(({ request }) => [request.operation, request.oldObject?.['data'], request.object?.['data']]),
    ).toEqual([
      ['UPDATE', { a: '1' }, { a: '2' }],
      ['DELETE', { a: '2' }, undefined],
    ]);
    expect(bench.webhook.questions[1]?.request.options).toMatchObject({ kind: 'DeleteOptions', gracePeriodSeconds: 3 });
  });

  it('is sent once for each object of a deleted collection', async () => {
    await bench.server.call(configMaps, { method: 'DELETE' });
    await bench.create();
    await bench.create();
    await bench.validating('v');
    await bench.server.call(configMaps, { method: 'DELETE' });
    expect(bench.webhook.questions.map(({ request }) => [request.operation, request.name])).toEqual([
      ['DELETE', undefined],
      ['DELETE', undefined],
    ]);
  });

  it('contains a Scale for the scale subresource, which the webhook can change', async () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { metadata: { name: 'scaled' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
    const deployments = '/apis/apps/v1/namespaces/test/deployments';
    await bench.server.call(deployments, { method: 'POST', body });
    bench.answer = () => ({ response: patch([{ op: 'replace', path: '/spec/replicas', value: 7 }]) });
    const rules = [{ operations: ['UPDATE'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/scale'] }];
    await register(bench.server, 'mutating', 'hooks', [{ name: 'scale.test.io', clientConfig: bench.webhook.at('scale'), rules }]);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const scaled = await bench.server.call(`${deployments}/scaled/scale`, { method: 'PATCH', headers, body: { spec: { replicas: 3 } } });
    expect(bench.webhook.questions[0]?.request).toMatchObject({
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      subResource: 'scale',
      object: { kind: 'Scale', spec: { replicas: 3 } },
    });
    expect(scaled.json()['spec']).toEqual({ replicas: 7 });
  });

  it('has the version that the webhook asks for, if it matches equivalent versions', async () => {
    const rules = [{ operations: ['*'], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['*'] }];
    bench.answer = () => ({ response: patch([{ op: 'replace', path: '/spec/maxReplicas', value: 9 }]) });
    await register(bench.server, 'mutating', 'hooks', [
      { name: 'exact.test.io', clientConfig: bench.webhook.at('exact'), rules, matchPolicy: 'Exact' },
      { name: 'any.test.io', clientConfig: bench.webhook.at('any'), rules },
    ]);
    const spec = { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd', apiVersion: 'apps/v1' } };
    const body = { metadata: { name: 'hpa' }, spec };
    const reply = await bench.server.call('/apis/autoscaling/v2/namespaces/test/horizontalpodautoscalers', { method: 'POST', body });
    expect(paths()).toEqual(['any']);
    expect(bench.webhook.questions[0]?.request).toMatchObject({
      kind: { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' },
      requestKind: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
      object: { apiVersion: 'autoscaling/v1' },
    });
    expect(reply.json()).toMatchObject({ apiVersion: 'autoscaling/v2', spec: { maxReplicas: 9 } });
  });

  it('has version v1beta1 if the webhook supports no other', async () => {
    bench.answer = (question) => ({ body: review(question, { allowed: true }).replace(question.request.uid, 'any') });
    await register(bench.server, 'validating', 'hooks', [
      { name: 'old.test.io', clientConfig: bench.webhook.at('old'), admissionReviewVersions: ['v1beta1'] },
    ]);
    expect((await bench.create()).code).toBe(201);
    expect(bench.webhook.questions[0]?.apiVersion).toBe('admission.k8s.io/v1beta1');
  });
});

describe('a webhook', () => {
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
  ])('is called only if it matches: an object %s', async (_, settings, calls) => {
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: bench.webhook.at('v'), ...settings }]);
    expect((await bench.create({ metadata: { labels: { ask: 'yes' } } })).code).toBe(201);
    expect(bench.webhook.questions).toHaveLength(calls);
  });

  it('is not called if a condition cannot be evaluated, and the request is rejected', async () => {
    const matchConditions = [{ name: 'c', expression: 'object.nope == 1' }];
    await register(bench.server, 'validating', 'hooks', [{ name: 'v.test.io', clientConfig: bench.webhook.at('v'), matchConditions }]);
    const reply = await bench.create({ metadata: { name: 'cond' } });
    expect([reply.code, reply.json().message]).toEqual([
      403,
      `configmaps "cond" is forbidden: expression 'object.nope == 1' resulted in error: no such key: nope`,
    ]);
  });

  it('is never called for webhook configurations and policies', async () => {
    bench.answer = () => ({ response: { allowed: false } });
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }];
    await register(bench.server, 'validating', 'hooks', [
      { name: 'all.test.io', clientConfig: bench.webhook.at('all'), rules, namespaceSelector: {} },
    ]);
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks';
    expect((await bench.server.call(path, { method: 'DELETE' })).code).toBe(200);
  });

  it('can be reached through a service, with a certificate for the name of the service', async () => {
    const body = { metadata: { name: 'hook' }, spec: { type: 'ExternalName', externalName: 'localhost' } };
    await bench.server.call('/api/v1/namespaces/test/services', { method: 'POST', body });
    const { caBundle } = bench.webhook.at();
    const service = { namespace: 'test', name: 'hook', path: '/by-service', port: bench.webhook.port };
    await register(bench.server, 'validating', 'hooks', [{ name: 'service.test.io', clientConfig: { caBundle: caBundle!, service } }]);
    expect((await bench.create()).code).toBe(201);
    expect(paths()).toEqual(['by-service']);
  });
});
