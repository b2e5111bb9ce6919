import { ApiError, type Resource } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { expect, test, vi } from 'vitest';
import { watchObject } from './watch.ts';

const state = (uid: string, phase: string): KubeObject =>
  ({ metadata: { name: 'data', uid, resourceVersion: '7' }, status: { phase } }) as unknown as KubeObject;
const notFound = new ApiError({ kind: 'Status', code: 404, reason: 'NotFound', message: 'not found' } as never, { code: 404 });

/** A server that gives these states, and for each of them a watch with these events. */
function serverOf(states: readonly KubeObject[], watches: readonly (readonly object[])[] = []) {
  const [nextState, nextWatch] = [states.values(), watches.values()];
  const get = vi.fn(async () => {
    const { value } = nextState.next();
    if (value === undefined) throw notFound;
    return value;
  });
  async function* watch() {
    yield* nextWatch.next().value ?? [];
  }
  return { get, resource: { get, watch } as unknown as Resource<KubeObject> };
}

const phaseOf = (object: KubeObject): string => (object['status'] as { phase: string }).phase;

test('goes on when the server ends a watch, and ends when the object is gone', async () => {
  const server = serverOf([state('a', 'Pending'), state('a', 'Deleting')], [[{ type: 'MODIFIED', object: state('a', 'Ready') }]]);
  const phases: string[] = [];
  for await (const object of watchObject(server.resource, { name: 'data', uid: 'a' })) phases.push(phaseOf(object));
  expect(phases).toEqual(['Pending', 'Ready', 'Deleting']);
});

test('ends when another object has the name', async () => {
  const server = serverOf([state('a', 'Pending'), state('b', 'Ready')]);
  const phases: string[] = [];
  for await (const object of watchObject(server.resource, { name: 'data', uid: 'a' })) phases.push(phaseOf(object));
  expect(phases).toEqual(['Pending']);
});

test('pauses while the server ends every watch at once', async () => {
  const server = serverOf(Array.from({ length: 1_000_000 }, () => state('a', 'Pending')));
  for await (const _ of watchObject(server.resource, { name: 'data', signal: AbortSignal.timeout(300) }));
  // Without pauses there are thousands.
  expect(server.get.mock.calls.length).toBeLessThan(50);
});
