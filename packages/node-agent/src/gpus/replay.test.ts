import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunCommand } from './discovery/command.ts';
import { GpuMonitor } from './monitor.ts';
import { NvidiaTools } from './nvidia/tools.ts';
import { fixture } from './testing.ts';
import { parseXids } from './xid/kernel-log.ts';

interface Series {
  readonly bootedAt: number;
  readonly kernelMessages: string;
  readonly snapshots: readonly { readonly at: number; readonly query: string; readonly processes: string; readonly processUse: string }[];
}

const uuid = 'GPU-33333333-4444-5555-6666-777777777777';

// Recorded on a real H200: idle, then PyTorch for some seconds, then a program that wrote to a wrong address.
test('the monitor shows the load, its process and a healthy card when it replays a recorded series', async () => {
  const { bootedAt, kernelMessages, snapshots } = JSON.parse(fixture('nvidia-h200-series/series.json')) as Series;
  let position = 0;
  const current = (): Series['snapshots'][number] => snapshots[Math.min(position, snapshots.length - 1)]!;
  const run: RunCommand = (_, args) => {
    const command = args.join(' ');
    if (command === '-q -x') return Promise.resolve({ output: fixture('nvidia-h200-series/nvidia-smi-q.xml'), exitCode: 0 });
    if (command === 'topo -m') return Promise.resolve({ output: fixture('nvidia-h200-series/topo.txt'), exitCode: 0 });
    if (command.startsWith('--query-gpu')) return Promise.resolve({ output: current().query, exitCode: 0 });
    return Promise.resolve({ output: command.startsWith('pmon') ? current().processUse : current().processes, exitCode: 0 });
  };
  const now = (): number => current().at;
  const tools = new NvidiaTools({ run, now });
  tools.isPresent = () => Promise.resolve(true);
  const sample = tools.sample.bind(tools);
  const seen = new Set<string>();
  const folder = await mkdtemp(join(tmpdir(), 'capstan-replay-'));
  let isRead = false;
  const messages = {
    read: () => {
      const xids = isRead ? [] : parseXids(kernelMessages, { bootedAt, now: now() });
      isRead = true;
      return Promise.resolve(xids);
    },
  };
  try {
    await using monitor = await GpuMonitor.start({
      machine: 'n1',
      stateFolder: folder,
      log: (line) => expect.unreachable(line),
      now,
      intervals: { sample: 1, report: 5_000, absent: 1 },
      tools: [tools],
      kernelMessages: messages,
      bootId: 'one',
      onChange: (_, gpus) => {
        for (const { health } of gpus) seen.add(health.state);
      },
    });
    tools.sample = async () => {
      const readings = await sample();
      // The monitor stores the readings with the time of their snapshot, so the next one begins after that.
      setImmediate(() => position++);
      return readings;
    };
    await expect.poll(() => position > snapshots.length, { interval: 2, timeout: 20_000 }).toBe(true);
    const range = { from: snapshots[0]!.at, to: snapshots.at(-1)!.at + 1 };
    const points = monitor.range(uuid, { ...range, step: 1_000 });
    expect(points[0]).toMatchObject({ utilizationPercent: { max: 0 }, memoryUsedBytes: { max: 0 } });
    expect(Math.max(...points.map(({ utilizationPercent }) => utilizationPercent!.max))).toBe(100);
    expect(Math.max(...points.map(({ memoryUsedBytes }) => memoryUsedBytes!.max))).toBe(9075 * 1024 * 1024);
    expect(Math.max(...points.map(({ powerWatts }) => powerWatts!.max))).toBeGreaterThan(500);
    expect(points.at(-1)).toMatchObject({ memoryUsedBytes: { max: 0 } });
    const processes = monitor.processes(uuid, range);
    expect(new Set(processes.map(({ pid }) => pid))).toEqual(new Set([504]));
    expect(processes.at(-1)!.memoryBytes).toBe(9066 * 1024 * 1024);
    expect(parseXids(kernelMessages, { bootedAt, now: 0 }).map(({ code }) => code)).toEqual([31]);
    expect(isRead).toBe(true);
    expect(seen).toEqual(new Set(['Healthy']));
  } finally {
    await rm(folder, { recursive: true });
  }
});
