import type { AppOperation } from '@capstan/api';
import type { JsonObject, KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import type { Call } from '../routes/call.ts';
import { beginOperation, previewInstance } from './operations.ts';

/** The most steps that the status of an operation has. */
const room = 512;

/** A platform that plans this many steps, which become others when `changesAfter` parts were shown. */
class Planner {
  readonly objects = new Map<string, KubeObject>([['lab', { metadata: { name: 'lab' } } as KubeObject]]);
  readonly created: AppOperation['spec'][] = [];
  readonly #total: number;
  readonly #changesAfter: number;

  constructor(total: number, changesAfter = Number.POSITIVE_INFINITY) {
    this.#total = total;
    this.#changesAfter = changesAfter;
  }

  async json({ method, path, body }: { readonly method: string; readonly path: string; readonly body?: string }): Promise<unknown> {
    const name = new URL(path, 'http://x').pathname.split('/').at(-1)!;
    if (method === 'GET') return this.objects.get(name);
    if (method === 'DELETE') return void this.objects.delete(name);
    const made = JSON.parse(body!) as KubeObject & { readonly spec: AppOperation['spec'] };
    const metadata = { ...made.metadata, name: made.metadata.name ?? `${made.metadata.generateName}${this.objects.size}` };
    const status = made.kind === 'AppOperation' ? this.#plan(made.spec) : {};
    const stored = { ...made, metadata, status } as KubeObject;
    this.objects.set(metadata.name, stored);
    return stored;
  }

  #plan(spec: AppOperation['spec']): JsonObject {
    this.created.push(spec);
    const total = this.#total + (this.created.length > this.#changesAfter ? 1 : 0);
    const ids = Array.from({ length: total }, (_, index) => `step-${index}`);
    const { skipSteps = 0 } = spec;
    const steps = ids.slice(skipSteps, skipSteps + room).map((id) => ({ id, title: id, stage: 0, member: 'm', state: 'pending' }));
    return { state: 'succeeded', steps, progress: { completed: 0, total } };
  }

  call(body: JsonObject): Call {
    return {
      incoming: { headers: { 'idempotency-key': 'k' } },
      workspace: 'root:w',
      parameters: { id: 'lab' },
      query: new URLSearchParams(),
      authorization: '',
      upstream: this,
      body: async () => body,
    } as unknown as Call;
  }
}

interface ShownPlan {
  readonly steps: readonly { readonly id: string }[];
  readonly members?: readonly string[];
}

async function bodyOf(answer: ReturnType<typeof beginOperation>): Promise<ShownPlan> {
  const reply = await answer;
  return (reply === 'sent' ? {} : reply.body) as ShownPlan;
}

describe('the plan of an operation', () => {
  test.each([1, 512, 513, 1024, 8192])('has all of its %i steps, in their order, and leaves nothing behind', async (total) => {
    const planner = new Planner(total);
    const call = { ...planner.call({ type: 'decommission', dryRun: true, name: 'mine' }), incoming: { headers: {} } } as unknown as Call;
    const { steps } = await bodyOf(beginOperation(call));
    expect(steps.map(({ id }) => id)).toEqual(Array.from({ length: total }, (_, index) => `step-${index}`));
    expect(planner.created).toHaveLength(Math.ceil(total / room));
    expect([...planner.objects.keys()]).toEqual(['lab']);
  });

  test('of an instance that does not exist is whole, too', async () => {
    const planner = new Planner(1200);
    const { steps, members } = await bodyOf(previewInstance(planner.call({ app: 'pair', placement: {} })));
    expect([steps.length, members]).toEqual([1200, ['m']]);
    expect([...planner.objects.keys()]).toEqual(['lab']);
  });

  test('that changes while it is read is refused instead of being mixed', async () => {
    const planner = new Planner(1200, 1);
    const call = { ...planner.call({ type: 'decommission', dryRun: true }), incoming: { headers: {} } } as unknown as Call;
    await expect(beginOperation(call)).rejects.toMatchObject({ code: 'conflict' });
    expect([...planner.objects.keys()]).toEqual(['lab']);
  });
});
