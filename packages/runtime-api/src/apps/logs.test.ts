import type { AppOperation } from '@capstan/api';
import { ApiError } from '@capstan/client';
import { expect, test } from 'vitest';
import type { Call } from '../routes/call.ts';
import { readLogs } from './logs.ts';

const step = (id: string, stage: number, more: object = {}) => ({
  id,
  title: `Do ${id}`,
  stage,
  member: 'lab-c',
  state: 'succeeded',
  ...more,
});
const operation = (name: string, sequence: number, status: object, instance = 'lab') =>
  ({
    metadata: { name },
    spec: { instance, type: 'deploy', dryRun: false },
    status: { state: 'succeeded', sequence, ...status },
  }) as unknown as AppOperation;
const first = operation('lab-1', 1, { steps: [step('old', 1, { node: 'n1', task: 't0' })] });
const second = operation('lab-2', 2, {
  state: 'failed',
  steps: [
    step('late', 2, { node: 'n1', task: 't3', state: 'failed', message: 'exit code 1' }),
    step('early', 1, { node: 'n1', task: 't1' }),
    step('secret', 1, { task: 't2' }),
    step('lost', 1, { node: 'n1', task: 't4' }),
    step('next', 3, { state: 'pending' }),
  ],
  errors: [{ step: 'late', code: 'CommandFailed', message: 'exit code 1', output: 'one\ntwo\nthree\n' }],
});

/** A request for the logs of an instance. The output of a step is its id and the number of lines that were asked for. */
function request(search = '', { id = 'lab', operations = [second, first], output = (text: string) => text } = {}): Call {
  const text = async ({ path }: { readonly path: string }): Promise<string> => {
    const query = new URL(path, 'http://x').searchParams;
    if (query.get('step') === 'lost') throw ApiError.of(404, '');
    return output(`${query.get('step')} ${query.get('tailLines')}`);
  };
  const json = async ({ path }: { readonly path: string }): Promise<unknown> => {
    if (path.includes('/appinstances/')) throw ApiError.of(404, '');
    return { items: operations, metadata: {} };
  };
  return {
    workspace: 'root:w',
    parameters: { id },
    query: new URLSearchParams(search),
    authorization: '',
    upstream: { text, json },
  } as unknown as Call;
}

const bodyOf = async (call: Call): Promise<unknown> => {
  const reply = await readLogs(call);
  return reply === 'sent' ? reply : reply.body;
};

test('has all steps of the last operation in their order, with their output', async () => {
  expect(await bodyOf(request())).toBe(`lab-2, deploy: failed

==> Do early (lab-c): succeeded
early 100

==> Do secret (lab-c): succeeded

==> Do lost (lab-c): succeeded

==> Do late (lab-c): failed, exit code 1
one
two
three

==> Do next (lab-c): pending
`);
});

test('has another operation, and as many lines of each step as the caller wants', async () => {
  expect(await bodyOf(request('operation=lab-1&tail=7'))).toBe('lab-1, deploy: succeeded\n\n==> Do old (lab-c): succeeded\nold 7\n');
  expect(await bodyOf(request('tail=1'))).toContain('exit code 1\nthree\n');
  expect(await bodyOf(request('tail=0'))).not.toContain('three');
  await expect(readLogs(request('operation=other'))).rejects.toMatchObject({ code: 'not_found' });
  await expect(readLogs(request('tail=many'))).rejects.toMatchObject({ code: 'invalid_parameter' });
});

test('says that there is no such instance', async () => {
  await expect(readLogs(request('', { id: 'other' }))).rejects.toMatchObject({ code: 404 });
});

test('is bounded', async () => {
  const steps = Array.from({ length: 100 }, (_, index) => step(`s${index}`, index, { node: 'n1', task: 't' }));
  const operations = [operation('lab-1', 1, { steps })];
  const text = (await bodyOf(request('', { operations, output: () => 'x'.repeat(100_000) }))) as string;
  expect(text.length).toBeLessThan(1.1 * 2 ** 20);
  expect(text).toMatch(/the rest is left out: ask for fewer lines with \?tail=\n$/);
});
