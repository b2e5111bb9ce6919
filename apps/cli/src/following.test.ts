import type { KubeObject } from '@capstan/machinery';
import { expect, test } from 'vitest';
import { followChanges } from './following.ts';

test('prints a line when something changes that the line shows', async () => {
  const object = (name: string, phase: string): KubeObject => ({ metadata: { name }, status: { phase } }) as unknown as KubeObject;
  const events = [
    { type: 'MODIFIED', object: object('a', 'Pending') },
    { type: 'BOOKMARK', object: {} as KubeObject },
    { type: 'MODIFIED', object: object('a', 'Running') },
    { type: 'ADDED', object: object('b', 'Pending') },
    { type: 'DELETED', object: object('a', 'Running') },
    { type: 'ADDED', object: object('a', 'Running') },
  ];
  const lines: string[] = [];
  const asked: unknown[] = [];
  const resource = {
    async *watch(options: unknown) {
      asked.push(options);
      yield* events;
    },
  };
  await followChanges(resource as never, {
    resourceVersion: '7',
    items: [object('a', 'Pending')],
    lineOf: (one) => (one['status'] as { phase: string }).phase,
    nameOf: ({ metadata }) => metadata.name ?? '',
    write: (line) => void lines.push(line),
  });
  expect(asked).toEqual([{ resourceVersion: '7' }]);
  expect(lines).toEqual(['a: Running', 'b: Pending', 'a: deleted', 'a: Running']);
});
