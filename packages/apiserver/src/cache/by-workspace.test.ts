import { asClusterId } from '@capstan/api';
import { expect, test } from 'vitest';
import { ByWorkspace } from './by-workspace.ts';

function stage(capacity?: number) {
  const made: string[] = [];
  const known = new ByWorkspace<{ of: string }>(capacity);
  const get = (cluster: string, state: number): { of: string } =>
    known.get(asClusterId(cluster), state, (of) => {
      made.push(of);
      return { of };
    });
  return { made, get };
}

test('keeps the value of a workspace until something changes', () => {
  const { made, get } = stage();
  expect(get('a', 1)).toBe(get('a', 1));
  expect(get('b', 1).of).toBe('b');
  expect(made).toEqual(['a', 'b']);
  const before = get('a', 1);
  expect(get('a', 2)).not.toBe(before);
});

test('keeps a limited number of workspaces', () => {
  const { made, get } = stage(10);
  for (let at = 0; at < 100; at++) get(`workspace-${at}`, 1);
  get('workspace-99', 1);
  expect(made).toHaveLength(100);
  get('workspace-0', 1);
  expect(made).toHaveLength(101);
});
