import type { AppStep } from '@capstan/api';
import { expect, test } from 'vitest';
import { FollowedSteps } from './followed-steps.ts';

const step = (id: string, state: AppStep['state'], more: Partial<AppStep> = {}): AppStep => ({
  id,
  title: id,
  stage: 1,
  state,
  member: 'm1',
  node: 'n1',
  task: `app-${id}`,
  attempts: 1,
  ...more,
});

/** Outputs that the test writes and ends. */
function followed() {
  const written: string[] = [];
  const open: { readonly step: AppStep; readonly onLine: (line: string) => void; readonly end: () => void }[] = [];
  const steps = new FollowedSteps({
    write: (line) => written.push(line.trim()),
    nodes: new Map(),
    follow: (one, onLine) => new Promise((end) => void open.push({ step: one, onLine, end })),
  });
  return { written, open, steps };
}

test('a step is printed when it begins, then its output, and its end last', async () => {
  const { written, open, steps } = followed();
  steps.see([step('install', 'pending')]);
  steps.see([step('install', 'running')]);
  steps.see([step('install', 'running')]);
  open[0]!.onLine('one');
  steps.see([step('install', 'succeeded')]);
  open[0]!.onLine('two\u001b[31m');
  open[0]!.end();
  await steps.ended();
  expect(open).toHaveLength(1);
  expect(written).toEqual(['1  install [m1] (running)', 'm1 | one', 'm1 | two\\x1b[31m', '1  install [m1] (succeeded)']);
});

test('a step that is over when it is first seen has its output all the same, and every attempt has one', async () => {
  const { written, open, steps } = followed();
  steps.see([step('join', 'failed', { message: 'no answer' })]);
  steps.see([step('join', 'running', { attempts: 2 })]);
  for (const { end } of open) end();
  await steps.ended();
  expect(open.map(({ step: { attempts } }) => attempts)).toEqual([1, 2]);
  expect(written).toEqual(['1  join [m1] (running)', '1  join [m1] (failed, no answer)']);
});

test('steps without a program, and those that make a secret, have no output', async () => {
  const { written, open, steps } = followed();
  const { node: _node, ...secret } = step('token', 'succeeded');
  steps.see([secret, step('check', 'skipped')]);
  await steps.ended();
  expect(open).toHaveLength(0);
  expect(written).toEqual(['1  token [m1] (succeeded)', '1  check [m1] (skipped)']);
});
