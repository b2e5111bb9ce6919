import { rootCluster } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { type Attributes, type Decision, type Gate, nothingWanted } from './attributes.ts';
import { settled } from './settled.ts';

const jane = { name: 'jane', groups: [] };
const asking = (name: string): Attributes => ({ ...nothingWanted, cluster: rootCluster, user: jane, verb: 'get', isResource: true, name });
const allowed: Decision = { allowed: true, reason: '' };
const refused: Decision = { allowed: false, reason: 'no' };

function gateOf(permitted: readonly string[], takesTime: (name: string) => boolean): Gate & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    authorize({ name }) {
      asked.push(name);
      const decision = permitted.includes(name) ? allowed : refused;
      return takesTime(name) ? Promise.resolve(decision) : decision;
    },
  };
}

describe('work behind an asynchronous gate', () => {
  test('runs once and synchronously when every decision is synchronous', () => {
    const gate = gateOf(['a'], () => false);
    let runs = 0;
    const result = settled(gate, (authorizer) => {
      runs++;
      return ['a', 'b'].map((name) => authorizer.authorize(asking(name)).allowed);
    });
    expect([result, runs]).toEqual([[true, false], 1]);
  });

  test('sees the decisions, each of which is requested once', async () => {
    const gate = gateOf(['a', 'c'], (name) => name !== 'b');
    const result = await settled(gate, (authorizer) => {
      const may = (name: string): boolean => authorizer.authorize(asking(name)).allowed;
      return may('a') && !may('b') && may('c');
    });
    expect(result).toBe(true);
    expect(gate.asked.filter((name) => name !== 'b')).toEqual(['a', 'c']);
  });

  test('that fails while decisions are pending is run again', async () => {
    const gate = gateOf(['a'], () => true);
    const check = (name: string): Promise<string> =>
      Promise.resolve(
        settled(gate, (authorizer) => {
          if (!authorizer.authorize(asking(name)).allowed) throw new Error(`not ${name}`);
          return 'done';
        }),
      );
    await expect(check('a')).resolves.toBe('done');
    await expect(check('b')).rejects.toThrow('not b');
  });

  test('distinguishes requests by all of their attributes', async () => {
    const gate: Gate = { authorize: ({ user }) => Promise.resolve(user.name === 'jane' ? allowed : refused) };
    const result = await settled(gate, (authorizer) =>
      [jane, { name: 'joe', groups: [] }].map((user) => authorizer.authorize({ ...asking('a'), user }).allowed),
    );
    expect(result).toEqual([true, false]);
  });
});
