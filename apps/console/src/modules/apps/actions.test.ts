import { appPreviewAnnotation } from '@capstan/api';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { beginOperation, deployPlanned, dropPlan, planDeployment } from './actions.ts';

const place = { workspace: 'root:main:default', namespace: 'default' };
const wanted = { name: 'hpc', app: 'slurm', version: 'debian', placement: { controller_allocation_id: 'a1' }, parameters: {} };

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: { readonly metadata?: object; readonly spec?: object };
}

let sent: Sent[];
let refused: (request: Sent) => number | undefined;

beforeEach(() => {
  sent = [];
  refused = () => undefined;
  vi.stubGlobal('location', { origin: 'http://console.test' });
  vi.stubGlobal('fetch', async (address: string | URL, { method = 'GET', body }: RequestInit = {}) => {
    const text = await new Response(body ?? '{}').text();
    const request: Sent = { method, path: new URL(address).pathname.split('/').slice(-2).join('/'), body: JSON.parse(text || '{}') };
    sent.push(request);
    const code = refused(request);
    const answer =
      code === undefined
        ? request.body
        : { kind: 'Status', status: 'Failure', code, reason: code === 404 ? 'NotFound' : 'Forbidden', message: 'refused' };
    return new Response(JSON.stringify(answer), { status: code ?? 200, headers: { 'content-type': 'application/json' } });
  });
});
afterEach(() => vi.unstubAllGlobals());

test('a plan is that of a paused preview, which nothing is done for', async () => {
  await planDeployment(place, wanted);
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST default/appinstances', 'POST default/appoperations']);
  expect(sent[0]!.body.metadata).toMatchObject({ name: 'hpc', annotations: { [appPreviewAnnotation]: 'console' } });
  expect(sent[0]!.body.spec).toEqual({ app: 'slurm', version: 'debian', placement: wanted.placement, paused: true });
  expect(sent[1]!.body.spec).toMatchObject({ instance: 'hpc', type: 'deploy', dryRun: true });
});

test('a plan that is refused leaves no preview behind', async () => {
  refused = ({ path }) => (path.endsWith('appoperations') ? 403 : undefined);
  await expect(planDeployment(place, wanted)).rejects.toThrow('refused');
  expect(sent.at(-1)).toMatchObject({ method: 'DELETE', path: 'appinstances/hpc' });
});

test('an instance that somebody else has made is not touched', async () => {
  refused = ({ method }) => (method === 'POST' ? 409 : undefined);
  await expect(planDeployment(place, wanted)).rejects.toThrow('refused');
  expect(sent.map(({ method }) => method)).toEqual(['POST']);
});

test('deploying ends the preview and the pause in one write', async () => {
  await deployPlanned(place, 'hpc', 'hpc-plan-1');
  const { method, path, body } = sent.at(-1)!;
  expect({ method, path, body }).toEqual({
    method: 'PATCH',
    path: 'appinstances/hpc',
    body: { metadata: { annotations: { [appPreviewAnnotation]: null } }, spec: { paused: false } },
  });
});

test('a preview that is gone already needs no deletion', async () => {
  refused = () => 404;
  await expect(dropPlan(place, 'hpc')).resolves.toBeUndefined();
  refused = () => 403;
  await expect(dropPlan(place, 'hpc')).rejects.toThrow('refused');
});

test('an operation names its member and parameters only if it has any', async () => {
  await beginOperation(place, { instance: 'hpc', type: 'reconcile' });
  await beginOperation(place, { instance: 'hpc', type: 'drain', member: 'm1', parameters: { reason: 'fan' } });
  expect(sent.map(({ body }) => body.spec)).toEqual([
    { instance: 'hpc', type: 'reconcile', dryRun: false, cancelled: false },
    { instance: 'hpc', type: 'drain', dryRun: false, cancelled: false, member: 'm1', parameters: { reason: 'fan' } },
  ]);
});
