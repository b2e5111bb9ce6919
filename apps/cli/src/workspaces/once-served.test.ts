import { gpuUnitKind, offeringKind, typeAnnotation } from '@capstan/api';
import { ApiError, type Client, type ResourceType } from '@capstan/client';
import { describe, expect, test } from 'vitest';
import { Failure } from '../failure.ts';
import { onceInstalled, onceServed } from './once-served.ts';

const refused = (code: number, details: object = {}): ApiError =>
  ApiError.of(
    code,
    JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      code,
      reason: { 403: 'Forbidden', 404: 'NotFound' }[code],
      details,
    }),
  );

/** A client for a workspace of this type; `isServed` says whether the kind can be listed. */
function clientFor(workspace: string, { type = 'root:project', isServed = false } = {}): Client {
  const list = async (): Promise<object> => {
    if (!isServed) throw refused(404);
    return { items: [] };
  };
  const get = async (): Promise<object> => ({ metadata: { name: 'cluster', annotations: { [typeAnnotation]: type } } });
  const resource = (kind: ResourceType) => (kind.resource === 'logicalclusters' ? { get } : { list, in: () => ({ list }) });
  const client = {
    connection: { server: `https://127.0.0.1:1/clusters/${workspace}` },
    resource,
    cluster: (path: string) => clientFor(path, { type, isServed }),
  };
  return client as unknown as Client;
}

const quick = { pause: 1, patience: 10_000 };
const never = {
  ...quick,
  onWait: (): never => {
    throw new Error('it waits');
  },
};

/** Fails twice. */
function request(error: Error): { readonly send: () => Promise<string>; readonly tries: () => number } {
  let tries = 0;
  const send = async (): Promise<string> => {
    if (++tries < 3) throw error;
    return 'made';
  };
  return { send, tries: () => tries };
}

describe('onceServed', () => {
  const kind = gpuUnitKind;

  test.each([
    ['the kind is not there', refused(404), false],
    ['another kind is not there', new Failure('usage', 'no units yet', refused(404)), true],
    ['nobody has a right to it', refused(403), false],
    ['the server knows no such address', ApiError.of(404, '404 page not found'), false],
  ])('repeats a request while %s', async (_, error, isServed) => {
    let waits = 0;
    const { send } = request(error);
    const client = clientFor('root:main:new', { isServed });
    expect(await onceServed({ client, kind }, send, { ...quick, onWait: () => waits++ })).toBe('made');
    expect(waits).toBe(2);
  });

  test.each([
    ['it names an object', refused(404, { name: 'x', kind: 'gpuunits' }), { isServed: true }],
    ['the user has no right to it', refused(403), { isServed: true }],
    ['the workspace never has the kind', refused(404), { type: 'root:organization' }],
  ])('does not repeat it if %s', async (_, error, options) => {
    const client = clientFor('root:main:new', options);
    await expect(onceServed({ client, kind }, () => Promise.reject(error), never)).rejects.toBe(error);
  });
});

describe('onceInstalled', () => {
  const place = { client: clientFor('root:main:new', { type: 'root:platform' }), kind: offeringKind };

  test.each([
    ['the kind is not installed', ApiError.of(404, '404 page not found')],
    ['the workspace of the platform is not there', refused(404, { name: 'root:platform', group: 'core.kcp.io', kind: 'logicalclusters' })],
  ])('repeats a request while %s', async (_, error) => {
    const { send, tries } = request(error);
    expect(await onceInstalled(place, send, { ...quick, onWait: () => {} })).toBe('made');
    expect(tries()).toBe(3);
  });

  test('says which product is missing if it does not come', async () => {
    const missing = onceInstalled(place, () => Promise.reject(refused(404)), { ...never, patience: 0 });
    await expect(missing).rejects.toThrow('compute.capstan.dev is not installed in root:platform yet');
  });

  test('tells users without rights at once', async () => {
    await expect(onceInstalled(place, () => Promise.reject(refused(403)), never)).rejects.toMatchObject({ code: 403 });
  });
});
