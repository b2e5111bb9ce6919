import { type NodeUnitStatus, nodeUnitKind } from '@capstan/api';
import { ApiError, type Client } from '@capstan/client';
import { beforeEach, expect, test, vi } from 'vitest';
import { nodeUnit } from '../units/testing/node-units.ts';
import { StatusReports } from './status-reports.ts';

const unit = { name: 'u-1', uid: 'uid-u-1' };
let sent: { readonly metadata: object; readonly status: object }[];
let answer: () => Promise<void>;
let lines: string[];
beforeEach(() => {
  [sent, lines] = [[], []];
  answer = async () => {};
});

function open(): StatusReports<NodeUnitStatus> {
  const patch = async (_name: string, { patch: body }: { patch: (typeof sent)[number] }): Promise<void> => {
    await answer();
    sent.push(body);
  };
  const client = { resource: () => ({ in: () => ({ patch }) }) } as unknown as Client;
  return new StatusReports<NodeUnitStatus>({
    kind: nodeUnitKind,
    words: { one: 'unit', many: 'units' },
    client,
    node: 'n1',
    backoff: { base: 1, max: 5 },
    log: (line) => lines.push(line),
    stepInterval: 60_000,
    preparingInterval: 60_000,
  });
}
const running: NodeUnitStatus = { phase: 'Running', pid: 7, ready: false };
const settled = (count: number): Promise<void> => vi.waitFor(() => expect(sent.length).toBe(count));

test('only fields that have changed are written, and fields that are gone are removed', async () => {
  await using reports = open();
  reports.observe({ ...nodeUnit('u-1'), status: { phase: 'Preparing', step: 'pulls' } });
  reports.report(unit, running);
  await settled(1);
  reports.report(unit, { ...running });
  reports.report(unit, { ...running, ready: true });
  await settled(2);
  expect(sent).toEqual([
    { metadata: { uid: 'uid-u-1' }, status: { phase: 'Running', pid: 7, ready: false, step: null } },
    { metadata: { uid: 'uid-u-1' }, status: { ready: true } },
  ]);
});

test('changes that come during a write are written together', async () => {
  await using reports = open();
  const gate = Promise.withResolvers<void>();
  answer = () => gate.promise;
  reports.report(unit, { phase: 'Pending' });
  for (const step of ['a', 'b', 'c']) reports.report(unit, { phase: 'Preparing', step });
  reports.report(unit, running);
  gate.resolve();
  await settled(2);
  expect(sent[1]?.status).toEqual(running);
});

test('a status that the control plane has lost is written again', async () => {
  await using reports = open();
  reports.report(unit, running);
  await settled(1);
  reports.observe({ ...nodeUnit('u-1'), status: { phase: 'Pending' } });
  reports.report(unit, running);
  await settled(2);
  expect(sent[1]?.status).toEqual(running);
});

test('writes are repeated until they succeed, and not after a refusal', async () => {
  await using reports = open();
  let tries = 0;
  answer = async () => {
    if (++tries < 4) throw new Error('no connection');
  };
  reports.report(unit, running);
  await settled(1);
  expect(tries).toBe(4);
  answer = async () => {
    tries++;
    throw ApiError.of(422, 'wrong');
  };
  reports.report(unit, { ...running, ready: true });
  await vi.waitFor(() => expect(lines.join('\n')).toContain('was refused'));
  expect(tries).toBe(5);
});

test('preparations and steps wait for a moment, and anything else does not wait for them', async () => {
  await using reports = open();
  reports.report(unit, { phase: 'Preparing' });
  reports.report(unit, { phase: 'Preparing', step: 'pulls' });
  reports.report(unit, running);
  await settled(1);
  expect(sent[0]?.status).toEqual(running);
});
