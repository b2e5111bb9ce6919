import type { AppOperation, AppStep } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { chosenOutput, outputsOf } from './step-outputs.ts';

const step = (id: string, state: AppStep['state'], more: Partial<AppStep> = {}): AppStep => ({
  id,
  title: id,
  stage: 0,
  state,
  node: 'n1',
  task: `app-${id}`,
  ...more,
});
const operation = (name: string, ...steps: AppStep[]): AppOperation =>
  ({ metadata: { name }, spec: { instance: 'lab', type: 'deploy' }, status: { steps } }) as unknown as AppOperation;

describe('the outputs of operations', () => {
  test('are those of steps that ran on a node, stage by stage', () => {
    const { node: _node, ...secret } = step('token', 'succeeded');
    const { task: _task, ...waiting } = step('join', 'pending');
    const outputs = outputsOf([operation('two', step('start', 'running', { stage: 2 }), step('check', 'succeeded'), secret, waiting)]);
    expect(outputs.map(({ id }) => id)).toEqual(['two/check', 'two/start']);
  });
});

describe('the output that is shown', () => {
  const older = operation('one', step('a', 'failed'));
  test.each([
    ['the one of the address', [operation('two', step('b', 'running')), older], 'one/a', 'one/a'],
    ['a step that runs', [operation('two', step('a', 'failed'), step('b', 'running'), step('c', 'running')), older], undefined, 'two/b'],
    ['the last step that failed', [operation('two', step('a', 'failed'), step('b', 'failed'), step('c', 'succeeded'))], 'gone', 'two/b'],
    ['the last step', [operation('two', step('a', 'succeeded'), step('b', 'succeeded')), older], undefined, 'two/b'],
    ['one of the newest operation with any', [operation('three'), older], undefined, 'one/a'],
    ['none', [], undefined, undefined],
  ])('is %s', (_what, operations, id, expected) => expect(chosenOutput(outputsOf(operations), id)?.id).toBe(expected));
});
