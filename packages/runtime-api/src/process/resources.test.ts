import { operationIdAnnotation, restPath } from '@capstan/api';
import { PretendFleet } from '@capstan/compute/testing';
import { pretendAgents } from '@capstan/fleet/testing';
import { type JsonObject, type KubeObject, textOf } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CapstanApi, ProblemError } from '../../generated/client.ts';
import { allRoutes } from '../routes/all.ts';
import { type Rest, startRest } from '../suite/rest.ts';

let rest: Rest;
beforeAll(async () => {
  rest = await startRest();
  const offering = {
    apiVersion: 'compute.capstan.dev/v1alpha1',
    kind: 'Offering',
    metadata: { name: 'small' },
    spec: { cpu: '1' },
  } as KubeObject;
  await rest.cloud.platform
    .resource({ group: 'compute.capstan.dev', version: 'v1alpha1', resource: 'offerings', namespaced: false })
    .create(offering);
}, 60_000);
afterAll(() => rest[Symbol.asyncDispose]());

const unit = (name?: string, more: JsonObject = {}): JsonObject => ({
  ...(name && { name }),
  offering: 'small',
  command: ['sleep', '1'],
  ...more,
});
const units = `${restPath}/gpu-units`;

test('an offering of the platform is visible to tenants', async () => {
  await expect.poll(async () => (await rest.ask(`${restPath}/offerings/small`)).status).toBe(200);
});

describe('a storage', () => {
  const storages = `${restPath}/gpu-storages`;
  test('is created, grows, is recovered and deleted', async () => {
    const made = await rest.ask(storages, { method: 'POST', body: { name: 'data', size: '1Gi' } });
    expect([made.status, made.body]).toMatchObject([
      201,
      { id: 'data', size: '1Gi', class: 'local', deletionPolicy: 'Delete', recover: 0 },
    ]);
    expect((await rest.ask(`${storages}/data`, { method: 'PATCH', body: { size: '2Gi' } })).body['size']).toBe('2Gi');
    expect((await rest.ask(`${storages}/data`)).status).toBe(200);
    // The controller may write the status between the two requests that a replacement is made of.
    const replace = () => rest.ask(`${storages}/data`, { method: 'PUT', body: { name: 'data', size: '3Gi' } });
    await expect.poll(async () => (await replace()).body['size']).toBe('3Gi');
    expect((await rest.ask(`${storages}?phase=Failed`)).body['items']).toEqual([]);
    const smaller = await rest.ask(`${storages}/data`, { method: 'PATCH', body: { size: '1Gi' } });
    expect(smaller.body).toMatchObject({ code: 'validation_failed', errors: [{ field: 'size' }] });
    for (const recover of [1, 2]) expect((await rest.ask(`${storages}/data/recover`, { method: 'POST' })).body['recover']).toBe(recover);
    expect((await rest.ask(`${storages}/nothing/recover`, { method: 'POST' })).status).toBe(404);
    await rest.ask(`${storages}/data`, { method: 'DELETE' });
    await expect.poll(async () => (await rest.ask(`${storages}/data`)).status).toBe(404);
  });
});

describe('a unit', () => {
  test('is created, read, changed and deleted as plain JSON', async () => {
    const made = await rest.ask(units, { method: 'POST', body: unit('train', { labels: { team: 'vision' } }) });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ id: 'train', name: 'train', namespace: 'default', offering: 'small', running: true, nodes: 1 });
    expect(made.body['createdBy']).toBe('system:serviceaccount:default:robot');
    expect(made.body).not.toHaveProperty('spec');
    const read = await rest.ask(`${units}/train`);
    expect(read.headers.get('etag')).toBe(`"${textOf(read.body['version'])}"`);
    const patched = await rest.ask(`${units}/train`, { method: 'PATCH', body: { priority: 5, labels: { team: null, stage: 'test' } } });
    expect(patched.body).toMatchObject({ priority: 5, labels: { stage: 'test' } });
    // An object that was read can be sent back.
    const replaced = await rest.ask(`${units}/train`, { method: 'PUT', body: { ...patched.body, priority: 6 } });
    expect(replaced.body).toMatchObject({ priority: 6, command: ['sleep', '1'], labels: { stage: 'test' } });
    expect((await rest.ask(`${units}/train/stop`, { method: 'POST' })).body['running']).toBe(false);
    expect((await rest.ask(`${units}/train/start`, { method: 'POST' })).body['running']).toBe(true);
    expect([202, 204]).toContain((await rest.ask(`${units}/train`, { method: 'DELETE' })).status);
    await expect.poll(async () => (await rest.ask(`${units}/train`)).status).toBe(404);
  });

  test('gets a name if it has none', async () => {
    const { body } = await rest.ask(units, { method: 'POST', body: unit() });
    expect(body['id']).toMatch(/^unit-/);
  });

  test('is in the workspace and the namespace that the address names', async () => {
    const there = `/clusters/${rest.tenant.path}${units}`;
    await rest.ask(there, { method: 'POST', body: unit('elsewhere') });
    expect((await rest.ask(`${there}/elsewhere`)).body['workspace']).toBe(rest.tenant.path);
    expect((await rest.ask(`${units}/elsewhere`)).status).toBe(200);
    expect((await rest.ask(`${units}/elsewhere?namespace=kube-system`)).body['code']).toBe('not_found');
    expect((await rest.ask(`/clusters/root:nowhere${units}`)).body['code']).toBe('forbidden');
    // Root has no units.
    expect((await rest.ask(`/clusters/root:platform${units}`, { token: rest.ownerToken })).body['code']).toBe('workspace_not_found');
  });

  test('is not changed if it is not as it was read', async () => {
    const { body } = await rest.ask(units, { method: 'POST', body: unit('versioned') });
    const first = `"${textOf(body['version'])}"`;
    const change = (headers: Record<string, string>, more: JsonObject = {}) =>
      rest.ask(`${units}/versioned`, { method: 'PATCH', headers, body: { priority: 1, ...more } });
    expect((await change({ 'if-match': first })).status).toBe(200);
    expect((await change({ 'if-match': first })).body).toMatchObject({ code: 'conflict', status: 409, reason: 'Conflict' });
    expect((await change({}, { version: textOf(body['version']) })).body['code']).toBe('conflict');
    for (const wrong of ['x', '"x"', '"99999999999999999999"'])
      expect((await change({ 'if-match': wrong })).body['code']).toBe('invalid_request');
    for (const wrong of ['x', '', '99999999999999999999'])
      expect((await change({}, { version: wrong })).body['code']).toBe('invalid_request');
    expect((await rest.ask(`${units}/versioned`, { method: 'DELETE', headers: { 'if-match': first } })).body['code']).toBe('conflict');
  });
});

describe('a list', () => {
  test('has pages, and filters by label and phase', async () => {
    const names = ['page-a', 'page-b', 'page-c', 'page-d', 'page-e'];
    for (const name of names) await rest.ask(units, { method: 'POST', body: unit(name, { labels: { list: 'pages' } }) });
    const seen: unknown[] = [];
    let token: unknown = '';
    do {
      const { body } = await rest.ask(`${units}?label=list%3Dpages&limit=2&continue=${encodeURIComponent(textOf(token))}`);
      seen.push(...(body['items'] as JsonObject[]).map(({ id }) => id));
      token = body['continue'] ?? '';
    } while (token !== '');
    expect(seen).toEqual(names);
    const kind = { group: 'compute.capstan.dev', version: 'v1alpha1', resource: 'gpuunits', namespaced: true };
    const objects = rest.tenant.client.resource(kind).in('default');
    await objects.patch('page-d', { type: 'merge', patch: { status: { phase: 'Running' } } }, { subresource: 'status' });
    const running = await rest.ask(`${units}?label=list%3Dpages&phase=Running&limit=1`);
    expect((running.body['items'] as JsonObject[]).map(({ id, phase }) => [id, phase])).toEqual([['page-d', 'Running']]);
    expect((await rest.ask(`${units}?phase=Walking`)).body['code']).toBe('invalid_parameter');
    expect((await rest.ask(`${units}?limit=0`)).body['code']).toBe('invalid_parameter');
    expect((await rest.ask(`${units}?continue=nonsense`)).status).toBe(400);
    expect((await rest.ask(`${units}?label=%3D%3D%3D`)).body['code']).toBe('invalid_request');
  });
});

describe('an idempotency key', () => {
  const create = (body: JsonObject, key: string, more: { token?: string; url?: string } = {}) =>
    rest.ask(`${more.url ?? ''}${units}`, {
      method: 'POST',
      body,
      headers: { 'idempotency-key': key },
      ...(more.token !== undefined && { token: more.token }),
    });

  test('gives the same answer to the same request, from any replica', async () => {
    const other = await rest.replica();
    const first = await create(unit(), 'key-1');
    const again = await create({ command: ['sleep', '1'], offering: 'small' }, 'key-1', { url: `http://127.0.0.1:${other.port}` });
    expect([first.status, again.status, again.body['id']]).toEqual([201, 201, first.body['id']]);
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([null, 'true']);
    expect(Object.keys((again.body['labels'] ?? {}) as JsonObject)).toContain(operationIdAnnotation);
  });

  test('creates one object when many replicas get the request at once', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => create(unit(), 'key-race')));
    expect(new Set(all.map(({ body }) => body['uid'])).size).toBe(1);
    expect(all.every(({ status }) => status === 201)).toBe(true);
  });

  test('creates one object when requests with different names come at once, also when they are repeated', async () => {
    const other = await rest.replica();
    const urls = ['', `http://127.0.0.1:${other.port}`];
    for (const round of [1, 2, 3]) {
      const names = Array.from({ length: 8 }, (_, at) => `named-${round}-${at % 4}`);
      const all = await Promise.all(names.map((name, at) => create(unit(name), `key-names-${round}`, { url: urls[at % 2]! })));
      const made = all.filter(({ status }) => status === 201);
      expect(made.length).toBeGreaterThan(0);
      expect(new Set(made.map(({ body }) => body['uid'])).size).toBe(1);
      expect(new Set(all.filter((one) => !made.includes(one)).map(({ body }) => body['code']))).toEqual(
        new Set(['idempotency_key_reused']),
      );
      const { body } = await rest.ask(units);
      const left = (body['items'] as JsonObject[]).map(({ id }) => textOf(id)).filter((id) => id.startsWith(`named-${round}`));
      expect(left).toEqual([made[0]!.body['id']]);
    }
  });

  test('refuses another body, also one with another name', async () => {
    await create(unit('keyed'), 'key-2');
    expect((await create(unit('keyed', { priority: 1 }), 'key-2')).body).toMatchObject({ code: 'idempotency_key_reused', status: 409 });
    expect((await create(unit('keyed-2'), 'key-2')).body['code']).toBe('idempotency_key_reused');
    expect((await create(unit('keyed'), 'key-3')).body['code']).toBe('already_exists');
  });

  test('belongs to one user', async () => {
    const other = await rest.accountToken(rest.tenant.client, 'colleague', 'cluster-admin');
    const first = await create(unit(), 'key-shared');
    const second = await create(unit('of-colleague'), 'key-shared', { token: other });
    expect([second.status, second.body['id']]).toEqual([201, 'of-colleague']);
    expect(second.body['uid']).not.toBe(first.body['uid']);
  });

  test('must be visible text', async () => {
    expect((await create(unit(), 'a b')).body['code']).toBe('invalid_idempotency_key');
    expect((await create(unit(), 'x'.repeat(256))).body['code']).toBe('invalid_idempotency_key');
  });
});

describe('a problem', () => {
  test('names the fields of the body that the API server refuses', async () => {
    const { status, body, headers } = await rest.ask(units, {
      method: 'POST',
      body: unit('bad', { nodes: 0, ports: [{ name: 'Web!', port: 80 }] }),
    });
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(status).toBe(422);
    expect(body).toMatchObject({ type: 'https://capstan.dev/problems/validation_failed', code: 'validation_failed', reason: 'Invalid' });
    expect((body['errors'] as JsonObject[]).map(({ field }) => field)).toEqual(expect.arrayContaining(['nodes', 'ports[0].name']));
  });

  test('names unknown fields', async () => {
    const { body } = await rest.ask(units, { method: 'POST', body: unit('bad', { imagee: 'x', __proto__: undefined as never }) });
    expect(body['errors']).toEqual([{ field: 'imagee', message: 'is not a field of this resource' }]);
    const nested = await rest.ask(units, { method: 'POST', body: unit('bad', { access: { port: 'web', color: 'red' } }) });
    expect(nested.body).toMatchObject({ code: 'invalid_request', reason: 'BadRequest' });
    expect(nested.body['detail']).toContain('spec.access.color');
  });

  test('says how to get a token', async () => {
    const none = await rest.ask(units, { token: null });
    expect([none.status, none.body['code'], none.headers.get('www-authenticate')]).toEqual([
      401,
      'unauthenticated',
      'Bearer realm="capstan"',
    ]);
    expect(none.body['detail']).toContain('kubectl create token');
    for (const token of ['wrong', 'a.b.c', `${rest.token}x`]) expect((await rest.ask(units, { token })).status).toBe(401);
    expect((await rest.ask(units, { token: null, headers: { authorization: 'Basic eDp5' } })).status).toBe(401);
  });

  test('is what users without rights get, and impersonation is not passed on', async () => {
    const token = await rest.accountToken(rest.tenant.client, 'nobody');
    const headers = { 'impersonate-user': 'kubernetes-admin', 'impersonate-group': 'system:masters' };
    for (const own of [{}, headers])
      expect((await rest.ask(units, { token, headers: own })).body).toMatchObject({ code: 'forbidden', status: 403 });
    expect((await rest.ask(`${restPath}/operator/nodes`)).body['code']).toBe('forbidden');
    expect((await rest.ask(`${restPath}/operator/inventory`)).body['code']).toBe('forbidden');
  });

  test('answers other methods and paths', async () => {
    const wrong = await rest.ask(units, { method: 'DELETE' });
    expect([wrong.body['code'], wrong.headers.get('allow')]).toEqual(['method_not_allowed', 'GET, POST']);
    expect((await rest.ask(`${restPath}/gpu-unit`)).body['code']).toBe('route_not_found');
    expect((await rest.ask('/')).body['code']).toBe('route_not_found');
    expect((await rest.ask(`${units}/x/logs`)).body['code']).toBe('not_found');
  });
});

describe('the other resources', () => {
  test('are allocations and offerings', async () => {
    const offerings = await rest.ask(`${restPath}/offerings`);
    expect((offerings.body['items'] as JsonObject[]).map(({ id, cpu }) => [id, cpu])).toContainEqual(['small', '1']);
    const made = await rest.ask(`${restPath}/allocations`, { method: 'POST', body: { name: 'order', offering: 'small' } });
    expect(made.status).toBe(201);
    await expect.poll(async () => (await rest.ask(`${restPath}/allocations?phase=Pending`)).body['items']).toMatchObject([{ id: 'order' }]);
    expect((await rest.ask(`${restPath}/allocations/order`)).body['status']).toMatchObject({ phase: 'Pending' });
    expect([202, 204]).toContain((await rest.ask(`${restPath}/allocations/order`, { method: 'DELETE' })).status);
  });

  test('for the operator are jobs, which wait until a replica works on them', async () => {
    const token = rest.ownerToken;
    const jobs = `${restPath}/operator/jobs`;
    const queue = () =>
      rest.ask(`${restPath}/operator/stock-units`, {
        method: 'POST',
        token,
        body: { offering: 'any', count: 2 },
        headers: { 'idempotency-key': 'stock-once' },
      });
    const { status, body } = await queue();
    expect([status, body['stock']]).toEqual([202, { offering: 'any', count: 2 }]);
    const id = body['id'] as string;
    expect((await queue()).body['id']).toBe(id);
    expect((await rest.ask(jobs, { token })).body['items']).toMatchObject([{ id }]);
    expect((await rest.ask(`${jobs}/${id}`, { token })).status).toBe(200);
    expect((await rest.ask(`${jobs}/${id}/cancel`, { token, method: 'POST' })).body['cancelled']).toBe(true);
    expect((await rest.ask(`${jobs}/${id}`, { token, method: 'DELETE' })).status).toBe(204);
  });

  test('for the operator are nodes and the inventory', async () => {
    const nodes = rest.cloud.platform.resource({
      group: 'fleet.capstan.dev',
      version: 'v1alpha1',
      resource: 'gpunodes',
      namespaced: false,
    });
    await nodes.create({
      apiVersion: 'fleet.capstan.dev/v1alpha1',
      kind: 'GPUNode',
      metadata: { name: 'n1' },
      spec: { pool: 'a' },
    } as KubeObject);
    const token = rest.ownerToken;
    expect((await rest.ask(`${restPath}/operator/nodes`, { token })).body['items']).toMatchObject([{ id: 'n1', pool: 'a' }]);
    expect((await rest.ask(`${restPath}/operator/nodes/n1`, { token })).status).toBe(200);
    const closed = await rest.ask(`${restPath}/operator/nodes/n1`, { token, method: 'PATCH', body: { unschedulable: true } });
    expect(closed.body['unschedulable']).toBe(true);
    expect((await rest.ask(`${restPath}/operator/inventory`, { token })).body).toMatchObject({
      models: [],
      pools: [{ pool: 'a', nodes: 1 }],
    });
    expect((await rest.ask(`/clusters/root:main${restPath}/operator/nodes`, { token })).body['code']).toBe('workspace_not_found');
  });
});

describe('the generated client', () => {
  test('has a method for each operation, and throws problems', async () => {
    const api = new CapstanApi({ server: rest.url, token: () => Promise.resolve(rest.token) });
    const body = { name: 'typed', offering: 'small', command: ['true'] };
    const made = await api.createGpuUnit(body, { idempotencyKey: 'typed' });
    expect((await api.createGpuUnit(body, { idempotencyKey: 'typed' })).uid).toBe(made.uid);
    expect((await api.patchGpuUnit('typed', { priority: 3 })).priority).toBe(3);
    expect((await api.listGpuUnits({ limit: 500 })).items.map(({ id }) => id)).toContain('typed');
    const failure = await api.patchGpuUnit('typed', { priority: 4 }, { ifMatch: `"${made.version}"` }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ProblemError);
    expect((failure as ProblemError).problem.code).toBe('conflict');
    const there = new CapstanApi({ server: `${rest.url}/clusters/${rest.tenant.path}`, token: rest.token });
    expect((await there.getGpuUnit('typed')).workspace).toBe(rest.tenant.path);
    await there.deleteGpuUnit('typed');
  });
});

describe('usage', () => {
  test('is that of the workspace for its users, and of all for the owner', async () => {
    const own = await rest.ask(`${restPath}/usage?from=2026-01-01&group_by=day`);
    expect(own.body).toMatchObject({ from: '2026-01-01T00:00:00.000Z', groupBy: 'day', items: [], total: { gpuSeconds: 0 } });
    const token = await rest.accountToken(rest.cloud.client.cluster('root'), 'auditor', 'cluster-admin');
    expect((await rest.ask(`${restPath}/usage`, { token })).status).toBe(200);
    expect((await rest.ask(`/clusters/root${restPath}/usage`)).body['code']).toBe('forbidden');
    const nobody = await rest.accountToken(rest.tenant.client, 'no-usage');
    expect((await rest.ask(`${restPath}/usage`, { token: nobody })).body['code']).toBe('forbidden');
    expect((await rest.ask(`${restPath}/usage?from=yesterday`)).body).toMatchObject({ code: 'invalid_request', reason: 'BadRequest' });
    expect((await rest.ask(`${restPath}/usage?group_by=user`)).body['code']).toBe('invalid_parameter');
  });
});

describe('an app instance', () => {
  const runtime = `${restPath}/app-runtime`;
  const instances = `${runtime}/instances`;
  const body = { app: 'pair', placement: { leader_allocation_id: 'whole' } };

  test('needs an allocation of a whole node', async () => {
    await new PretendFleet(rest.cloud.platform).makePool('metal', { exclusive: true });
    await expect
      .poll(async () => (await rest.ask(`${restPath}/allocations`, { method: 'POST', body: { name: 'whole', offering: 'metal' } })).status)
      .toBe(201);
    await expect.poll(async () => (await rest.ask(`${restPath}/allocations/whole`)).body['phase'], { timeout: 10_000 }).toBe('Active');
  });

  test('has an app of the catalog', async () => {
    expect((await rest.ask(`${runtime}/apps`)).body['items']).toMatchObject([{ id: 'pair', displayName: 'A pair' }]);
    expect((await rest.ask(`${runtime}/apps/pair`)).status).toBe(200);
  });

  test('is planned before it exists', async () => {
    const plan = await rest.ask(`${instances}?dryRun=true`, { method: 'POST', body });
    expect([plan.status, plan.body]).toMatchObject([
      200,
      {
        members: [expect.stringMatching(/^whole-/)],
        steps: [{ stage: 1 }, { stage: 2, title: 'Say hello', phase: 'leading' }, { stage: 4 }],
      },
    ]);
    expect((await rest.ask(instances)).body['items']).toEqual([]);
    const wrong = await rest.ask(`${instances}?dryRun=true`, { method: 'POST', body: { app: 'pair', placement: { leader: 'x' } } });
    expect(wrong.body).toMatchObject({
      code: 'validation_failed',
      detail: expect.stringContaining('placement.leader_allocation_id: Required value'),
    });
  });

  test('is deployed, used, operated and deleted', async () => {
    await using _agents = pretendAgents(rest.cloud.platform);
    const made = await rest.ask(instances, {
      method: 'POST',
      body: { name: 'two', ...body, appVersion: '1' },
      headers: { 'idempotency-key': 'k' },
    });
    expect([made.status, made.body]).toMatchObject([201, { id: 'two', appVersion: '1', version: expect.stringMatching(/^\d+$/) }]);
    const state = async () => ((await rest.ask(`${instances}/two`)).body['status'] as JsonObject | undefined)?.['state'];
    await expect.poll(state, { timeout: 10_000 }).toBe('running');
    const members = (await rest.ask(`${instances}/two/members`)).body['items'] as JsonObject[];
    expect(members).toMatchObject([{ component: 'leader', allocation: 'whole', instance: 'two' }]);
    expect((await rest.ask(`${runtime}/members`)).body['items']).toHaveLength(1);
    expect((await rest.ask(`${runtime}/members/${textOf(members[0]!['id'])}`)).status).toBe(200);
    expect((await rest.ask(`${instances}/two/access`)).body).toMatchObject({ endpoints: [{ name: 'greeting' }] });
    expect((await rest.ask(`${instances}/two/kubeconfig?server=https://x:1`)).body).toMatchObject({ code: 'not_found' });
    expect((await rest.ask(`${instances}/two/logs`)).text).toMatch(/, deploy: succeeded\n[\s\S]*==> Say hello \(\S+\): succeeded\n/);
    await expect
      .poll(async () => ((await rest.ask(`${instances}/two/events`)).body['items'] as JsonObject[]).map(({ reason }) => reason))
      .toContain('OperationSucceeded');
    const own = `/clusters/${rest.tenant.path}${instances}/two`;
    for (const [path, report] of [
      ['report-phase', { phase: 'a' }],
      [`members/${textOf(members[0]!['id'])}/report-health`, { healthy: true }],
    ] as const)
      expect((await rest.ask(`${own}/${path}`, { method: 'POST', body: report })).body['code']).toBe('forbidden');
    const shown = await rest.ask(`${instances}/two/operations`, { method: 'POST', body: { type: 'decommission', dryRun: true } });
    expect([shown.status, shown.body]).toMatchObject([200, { steps: [{ title: expect.stringContaining('Remove everything') }] }]);
    const begun = await rest.ask(`${instances}/two/operations`, {
      method: 'POST',
      body: { type: 'wave', member: textOf(members[0]!['id']) },
    });
    expect(begun.status).toBe(201);
    const operation = `${runtime}/operations/${textOf(begun.body['id'])}`;
    await expect
      .poll(async () => ((await rest.ask(operation)).body['status'] as JsonObject)['state'], { timeout: 10_000 })
      .toBe('succeeded');
    expect((await rest.ask(`${instances}/two/operations`)).body['items']).toHaveLength(2);
    expect((await rest.ask(`${runtime}/operations`)).body['items']).toHaveLength(2);
    expect((await rest.ask(operation, { method: 'DELETE' })).status).toBeLessThan(300);
    for (const [action, field, value] of [
      ['pause', 'paused', true],
      ['unpause', 'paused', false],
      ['stop', 'stopped', true],
      ['start', 'stopped', false],
    ] as const)
      expect((await rest.ask(`${instances}/two/${action}`, { method: 'POST' })).body[field]).toBe(value);
    expect((await rest.ask(`${instances}/two`, { method: 'PATCH', body: { labels: { a: 'b' } } })).status).toBe(200);
    const replace = () => rest.ask(`${instances}/two`, { method: 'PUT', body: { name: 'two', ...body } });
    await expect.poll(async () => (await replace()).status).toBe(200);
    await rest.ask(`${instances}/two`, { method: 'DELETE' });
    await expect.poll(async () => (await rest.ask(`${instances}/two`)).status, { timeout: 10_000 }).toBe(404);
  });
});

describe('the server', () => {
  test('describes itself, for programs and for people', async () => {
    expect((await rest.ask(`${restPath}/health`, { token: null })).body).toEqual({ status: 'ok', apiserver: 'ok' });
    const document = await rest.ask(`${restPath}/openapi.json`, { token: null });
    expect(document.body).toMatchObject({ openapi: '3.1.0' });
    const page = await rest.ask(`${restPath}/docs`, { token: null });
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.text).toContain('/api/v1/gpu-units/{id}');
    expect(page.text).not.toMatch(/<script|src=|https?:\/\/(?!capstan)/);
  });

  test('has answered every operation as the document says', () => {
    expect([...rest.answered].sort()).toEqual(allRoutes.map(({ operationId }) => operationId).sort());
  });

  test('never writes a token to its log', () => {
    expect(rest.log.join('\n')).not.toContain(rest.token.slice(0, 20));
  });
});
