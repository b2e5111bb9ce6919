import type { GpuStatus } from '@capstan/api';
import { beforeEach, expect, test } from 'vitest';
import { emptyBook, type HealthBook, type HealthEvent, healthOf, track } from '../../gpus/health/tracker.ts';
import { parseNvidiaReport } from '../../gpus/nvidia/report.ts';
import { fixture } from '../../gpus/testing.ts';
import type { TaskContext } from '../task-type.ts';
import { gpuAccept } from './gpu-accept.ts';

const query = fixture('nvidia-h200-loaded/nvidia-smi-q.xml');
const present = parseNvidiaReport({ query, observedAt: 1000 }).gpus[0]!.uuid;
const gone = 'GPU-gone';

let book: HealthBook;
let printed: string;
let isBroken: boolean;
beforeEach(() => {
  [book, printed, isBroken] = [emptyBook, '', false];
  apply({ type: 'report', report: parseNvidiaReport({ query, observedAt: 1000 }) });
  apply({ type: 'expected', at: 2000, gpus: [{ uuid: gone }] });
});
const apply = (event: HealthEvent): void => void (book = track(book, event));
const states = (): string[] => healthOf(book).map(({ uuid, health }) => `${uuid} ${health.state}`);

const task = gpuAccept({
  inspect: async (): Promise<readonly GpuStatus[]> => {
    if (isBroken) throw new Error('nvidia-smi does not answer');
    return healthOf(book);
  },
  status: () => healthOf(book),
  isPresent: (uuid) => book.cards.some((card) => card.uuid === uuid && card.presence === 'present'),
  forget: async (uuid) => apply({ type: 'removed', at: 3000, uuid }),
  clear: async (uuid) => apply({ type: 'cleared', at: 3000, uuid }),
});
const run = (parameters: object) =>
  task.run(parameters as never, { step: () => {}, print: (text: string) => void (printed += text) } as unknown as TaskContext);

test('forgets a GPU that is gone, and doing so again changes nothing', async () => {
  expect(states()).toEqual([`${present} Healthy`, `${gone} Missing`]);
  expect(await run({ forget: [gone] })).toEqual({ report: [{ name: gone, message: 'forgotten' }] });
  expect(printed).toBe(`${gone}  forgotten\n`);
  expect(states()).toEqual([`${present} Healthy`]);
  expect(await run({ forget: [gone] })).toEqual({ report: [{ name: gone, message: 'was not known' }] });
});

test('forgets none of them if one is in the machine', async () => {
  await expect(run({ forget: [gone, present] })).rejects.toMatchObject({
    code: 'InvalidParameters',
    message: `${present} is in the machine (Healthy); only a GPU that is gone can be forgotten`,
  });
  expect(states()).toEqual([`${present} Healthy`, `${gone} Missing`]);
});

test('clears a GPU, so that it is well again once that has lasted', async () => {
  const xid = { id: 'x', code: 79, at: 2500, pciBus: book.cards[0]!.pciBusId!.replace(/\.0$/, ''), detail: '' };
  apply({ type: 'xids', at: 2500, xids: [xid] });
  expect(states()[0]).toBe(`${present} Failed`);
  expect(await run({ clear: [present] })).toMatchObject({ report: [{ name: present, message: expect.stringContaining('cleared') }] });
  for (const observedAt of [60_000, 120_000, 180_000]) apply({ type: 'report', report: parseNvidiaReport({ query, observedAt }) });
  expect(states()[0]).toBe(`${present} Healthy`);
});

test('refuses to clear a GPU that the node does not have', async () => {
  await expect(run({ clear: ['GPU-other'] })).rejects.toMatchObject({
    code: 'InvalidParameters',
    message: 'this node has no GPU GPU-other',
  });
});

test('works where the tools give no answer', async () => {
  isBroken = true;
  await run({ forget: [gone] });
  expect(printed).toBe(`the tools give no answer: nvidia-smi does not answer\n${gone}  forgotten\n`);
  expect(states()).toEqual([`${present} Healthy`]);
});
