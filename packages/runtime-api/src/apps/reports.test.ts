import { type AppInstance, type AppMember, appInstanceKind, appMemberKind, nodeNamespace, restPath } from '@capstan/api';
import { PretendFleet } from '@capstan/compute/testing';
import { pretendAgents } from '@capstan/fleet/testing';
import { type JsonObject, type KubeObject, textOf } from '@capstan/machinery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Rest, type RestAnswer, startRest } from '../suite/rest.ts';

let rest: Rest;
let agents: AsyncDisposable;
let member: AppMember;
let token: string;
const patience = { timeout: 10_000 };
const secrets = { group: '', version: 'v1', resource: 'secrets', namespaced: true };
const instance = (): string => `/clusters/${rest.tenant.path}${restPath}/app-runtime/instances/two`;
const post = (path: string, body: unknown, own: string | null = token): Promise<RestAnswer> =>
  rest.ask(`${instance()}/${path}`, { method: 'POST', body, token: own });

beforeAll(async () => {
  rest = await startRest();
  await new PretendFleet(rest.cloud.platform).makePool('metal', { exclusive: true });
  const order = () => rest.ask(`${restPath}/allocations`, { method: 'POST', body: { name: 'whole', offering: 'metal' } });
  await vi.waitFor(async () => expect((await order()).status).toBe(201), patience);
  agents = pretendAgents(rest.cloud.platform);
  const body = { name: 'two', app: 'pair', placement: { leader_allocation_id: 'whole' } };
  await rest.ask(`${restPath}/app-runtime/instances`, { method: 'POST', body });
  const state = async () => ((await rest.ask(instance())).body['status'] as JsonObject | undefined)?.['state'];
  await vi.waitFor(async () => expect(await state()).toBe('running'), patience);
  [member] = (await rest.tenant.client.resource<AppMember>(appMemberKind).in('default').list()).items as [AppMember];
  await post('operations', { type: 'introduce' }, rest.token);
  token = await vi.waitFor(async () => {
    const found = await deliveredToken();
    expect(found).toMatch(/^capstan-app\./);
    return found;
  }, patience);
}, 60_000);
afterAll(async () => {
  await agents?.[Symbol.asyncDispose]();
  await rest?.[Symbol.asyncDispose]();
});

/** The token that the node of the member got through the Secret of a task. */
async function deliveredToken(): Promise<string> {
  const { items } = await rest.cloud.platform
    .resource<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(secrets)
    .in(nodeNamespace(member.spec.node))
    .list();
  const found = items.map(({ data }) => data?.['report-token']).find((one) => one !== undefined);
  return Buffer.from(found ?? '', 'base64').toString('utf8');
}

describe('an instance', () => {
  test('reports its phase and the health of a member with the token that its node got', async () => {
    const phase = { phase: 'bootstrapping', progress: { completed: 2, total: 5 } };
    const receipt = await post('report-phase', phase);
    expect([receipt.status, receipt.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect((await post(`members/${member.metadata.name}/report-health`, { healthy: true, detail: { role: 'leader' } })).status).toBe(200);
    const read = await rest.tenant.client.resource<AppInstance>(appInstanceKind).in('default').get('two');
    expect(read.status).toMatchObject({ state: 'running', phase: 'ready', reported: { ...phase, source: 'account' } });
    expect(read.status?.reported?.expiresAt).toBe(receipt.body['expiresAt']);
    const members = (await rest.ask(`${instance()}/members`)).body;
    expect(members['items']).toMatchObject([{ status: { reported: { healthy: true, detail: { role: 'leader' }, source: 'account' } } }]);
  });

  test('learns which fields of a report are wrong', async () => {
    const { status, body } = await post('report-phase', { phase: 'a b', progress: { completed: 1 } });
    expect([status, body['code']]).toEqual([422, 'validation_failed']);
    expect((body['errors'] as readonly JsonObject[]).map(({ field }) => textOf(field)).sort()).toEqual(['phase', 'progress.total']);
  });

  test('cannot report on another, without a workspace, or with a token in the query', async () => {
    const other = `/clusters/${rest.tenant.path}${restPath}/app-runtime/instances/other/report-phase`;
    expect((await rest.ask(other, { method: 'POST', body: { phase: 'a' }, token })).body['code']).toBe('forbidden');
    const bare = `${restPath}/app-runtime/instances/two/report-phase`;
    expect((await rest.ask(bare, { method: 'POST', body: { phase: 'a' }, token })).body['code']).toBe('workspace_not_found');
    expect((await post(`report-phase?token=${token}`, { phase: 'a' }, null)).body['code']).toBe('unauthenticated');
    const refused = await post(`report-phase?access_token=${token}`, { phase: 'a' });
    expect([refused.body['code'], refused.text.includes(token)]).toEqual(['invalid_parameter', false]);
    expect(rest.log.join('\n')).not.toContain(token.slice(-40));
  });

  test('cannot use its token for anything else', async () => {
    expect((await rest.ask(instance(), { token })).status).toBe(403);
    expect((await post('operations', { type: 'restart' })).status).toBe(403);
  });

  test('must wait if it reports too often', async () => {
    const answers = await Promise.all(Array.from({ length: 14 }, () => post('report-phase', { phase: 'a' })));
    const refused = answers.find(({ status }) => status === 429);
    expect([refused?.body['code'], refused?.headers.get('retry-after')]).toEqual(['too_many_requests', '1']);
  });

  test('loses its token when it is deleted', async () => {
    await rest.ask(instance(), { method: 'DELETE' });
    await expect.poll(async () => (await rest.ask(instance())).status, patience).toBe(404);
    expect((await post('report-phase', { phase: 'a' })).status).toBe(401);
  });
});
