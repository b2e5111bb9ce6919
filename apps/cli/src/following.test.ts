import { ApiError, ConnectionError } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { followChanges } from './following.ts';

const object = (name: string, phase: string, resourceVersion?: string): KubeObject =>
  ({ metadata: { name, ...(resourceVersion && { resourceVersion }) }, status: { phase } }) as unknown as KubeObject;
const failure = (code: number, reason: string): ApiError =>
  new ApiError({ kind: 'Status', code, reason, message: reason } as never, { code });
const forbidden = failure(403, 'Forbidden');

/** Follows a server that answers watches and lists with these, one after the other, until one fails for good. */
async function follow(watches: readonly (readonly (object | Error)[])[], lists: readonly (readonly KubeObject[])[] = []) {
  const lines: string[] = [];
  const asked: unknown[] = [];
  const troubles: (string | undefined)[] = [];
  const [nextWatch, nextList] = [watches.values(), lists.values()];
  const resource = {
    async *watch(options: { resourceVersion: string }) {
      asked.push(options.resourceVersion);
      for (const event of nextWatch.next().value ?? [forbidden]) {
        if (event instanceof Error) throw event;
        yield event;
      }
    },
    list: async () => {
      asked.push('list');
      return { items: nextList.next().value ?? [], metadata: { resourceVersion: '90' } };
    },
  };
  const following = followChanges(resource as never, {
    resourceVersion: '7',
    items: [object('a', 'Pending')],
    lineOf: (one) => (one['status'] as { phase: string }).phase,
    nameOf: ({ metadata }) => metadata.name ?? '',
    write: (line) => void lines.push(line),
    onTrouble: (reason) => void troubles.push(reason),
  });
  await expect(following).rejects.toBe(forbidden);
  return { lines, asked, troubles };
}

test('prints a line when something changes that the line shows', async () => {
  const { lines } = await follow([
    [
      { type: 'MODIFIED', object: object('a', 'Pending') },
      { type: 'BOOKMARK', object: { metadata: {} } },
      { type: 'MODIFIED', object: object('a', 'Running') },
      { type: 'ADDED', object: object('b', 'Pending') },
      { type: 'DELETED', object: object('a', 'Running') },
      { type: 'ADDED', object: object('a', 'Running') },
    ],
  ]);
  expect(lines).toEqual(['a: Running', 'b: Pending', 'a: deleted', 'a: Running']);
});

test('goes on where it was when the server ends the watch', async () => {
  const { lines, asked, troubles } = await follow([
    [{ type: 'MODIFIED', object: object('a', 'Running', '8') }],
    [{ type: 'BOOKMARK', object: { metadata: { resourceVersion: '12' } } }],
    [{ type: 'MODIFIED', object: object('a', 'Ended', '13') }],
  ]);
  expect(asked).toEqual(['7', '8', '12', '13']);
  expect(lines).toEqual(['a: Running', 'a: Ended']);
  expect(troubles).toEqual([]);
});

test('says that the server is lost, and prints what has changed meanwhile', async () => {
  const { lines, asked, troubles } = await follow(
    [[new ConnectionError('failed', 'no route')], [failure(410, 'Expired')]],
    [[object('b', 'Pending')], [object('b', 'Running')]],
  );
  expect(asked).toEqual(['7', 'list', '90', 'list', '90']);
  expect(lines).toEqual(['a: deleted', 'b: Pending', 'b: Running']);
  expect(troubles).toEqual(['no route', undefined]);
});
