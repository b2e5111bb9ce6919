import { expect, it } from 'vitest';
import { Readers } from './readers.ts';

it('readers of one tenant leave room for those of others, and give up after a while', async () => {
  const readers = new Readers({ what: 'reports', patience: 50 });
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const running: string[] = [];
  const read = (tenant: string): Promise<string> =>
    readers
      .run(tenant, async () => {
        running.push(tenant);
        await end;
      })
      .then(
        () => 'read',
        (error: Error) => error.message,
      );
  const outcomes = ['greedy', 'greedy', 'greedy', 'greedy', 'other', 'third'].map(read);
  expect(await outcomes[2]).toBe('4 reports are running already, or 2 of the same organization');
  expect(running).toEqual(['greedy', 'greedy', 'other', 'third']);
  resolve();
  expect(await Promise.all(outcomes)).toEqual(['read', 'read', expect.any(String), expect.any(String), 'read', 'read']);
  expect(await read('greedy')).toBe('read');
});

it('errors of readers are passed on', async () => {
  const readers = new Readers({ what: 'reports' });
  await expect(readers.run('a', () => Promise.reject(new Error('damaged')))).rejects.toThrow('damaged');
});
