import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GpuReport, GpuStatus } from '@capstan/api';
import { Metrics } from '@capstan/machinery';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { GpuTools } from './discovery/tools.ts';
import { GpuError } from './errors.ts';
import { GpuMonitor, type GpuMonitorOptions } from './monitor.ts';
import { parseNvidiaReport } from './nvidia/report.ts';
import { fixture } from './testing.ts';
import { parseXids, type XidEvent } from './xid/kernel-log.ts';

const uuid = 'GPU-22222222-3333-4444-5555-666666666666';
const intervals = { sample: 1, report: 1_000_000, absent: 1 };
const until = (isSo: () => boolean): Promise<void> => expect.poll(isSo, { interval: 2, timeout: 20_000 }).toBe(true);
let folder = '';
let lines: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'capstan-monitor-'));
  lines = [];
});
afterEach(() => rm(folder, { recursive: true }));

/** A real card under load, whose tools a test can break. */
class Card implements GpuTools {
  readonly source = 'nvidia';
  failure: GpuError | undefined;

  isPresent(): Promise<boolean> {
    return Promise.resolve(true);
  }

  fingerprint(): Promise<string> {
    return Promise.resolve('');
  }

  report(): Promise<GpuReport> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(parseNvidiaReport({ query: fixture('nvidia-h200-loaded/nvidia-smi-q.xml'), observedAt: Date.now() }));
  }

  async sample(): Promise<GpuReport['readings']> {
    return (await this.report()).readings;
  }
}

class Kernel {
  #next: XidEvent[] = [];

  say(code: number): void {
    this.#next = parseXids(`NVRM: Xid (PCI:0000:00:06): ${code}, x`, { bootedAt: 0, now: Date.now() });
  }

  read(): Promise<XidEvent[]> {
    return Promise.resolve(this.#next.splice(0));
  }
}

const start = (more: Partial<GpuMonitorOptions> = {}): Promise<GpuMonitor> =>
  GpuMonitor.start({
    machine: 'n1',
    stateFolder: folder,
    log: (line) => lines.push(line),
    intervals,
    tools: [new Card()],
    kernelMessages: new Kernel(),
    bootId: 'one',
    ...more,
  });

const samplesOf = (monitor: GpuMonitor): number =>
  monitor.range(uuid, { from: 0, to: Date.now() + 1, step: Date.now() + 1 })[0]?.samples ?? 0;

describe('GpuMonitor', () => {
  test('tells of changes, not of samples', async () => {
    const changes: (readonly GpuStatus[])[] = [];
    await using monitor = await start({ onChange: (_, gpus) => changes.push(gpus) });
    await until(() => samplesOf(monitor) > 5);
    expect(changes).toHaveLength(1);
    expect(changes[0]).toMatchObject([{ uuid, pciBusId: '0000:00:06.0', health: { state: 'Healthy' }, gpu: { model: 'H200' } }]);
    expect(monitor.readings()).toMatchObject([{ utilizationPercent: 100, processes: [{ pid: 457 }] }]);
    expect(monitor.reports()).toHaveLength(1);
  });

  test('attributes processes to cards over time', async () => {
    await using monitor = await start();
    await until(() => monitor.processes(uuid, { from: 0, to: Date.now() + 1 }).length > 2);
    expect(monitor.processes(uuid, { from: 0, to: Date.now() + 1 })[0]).toMatchObject({ pid: 457, memoryBytes: 9066 * 1024 * 1024 });
  });

  test('prints metrics for each card', async () => {
    const metrics = new Metrics();
    await using monitor = await start({ metrics });
    await until(() => monitor.readings().length > 0);
    const text = metrics.text();
    expect(text).toContain(`capstan_gpu_utilization_ratio{uuid="${uuid}"} 1\n`);
    expect(text).toContain(`capstan_gpu_memory_used_bytes{uuid="${uuid}"} ${9075 * 1024 * 1024}\n`);
    expect(text).toContain(`capstan_gpu_health{state="Healthy",uuid="${uuid}"} 1\n`);
    expect(text).toContain(`capstan_gpu_health{state="Failed",uuid="${uuid}"} 0\n`);
    expect(text).toContain(`capstan_gpu_ecc_errors_total{kind="uncorrectable",uuid="${uuid}"} 0\n`);
  });

  test('remembers samples and a condemned card across a restart of the agent, and forgives after one of the machine', async () => {
    const kernel = new Kernel();
    let before = 0;
    {
      await using monitor = await start({ kernelMessages: kernel });
      await until(() => monitor.status().length === 1);
      kernel.say(79);
      await until(() => monitor.status()[0]!.health.state === 'Failed');
      before = samplesOf(monitor);
    }
    {
      await using monitor = await start();
      expect(monitor.status()[0]!.health).toMatchObject({ state: 'Failed', reason: 'Xid79' });
      expect(samplesOf(monitor)).toBeGreaterThanOrEqual(before);
    }
    const health = { paces: { recovery: { observations: 2, milliseconds: 0 }, silence: { observations: 1, milliseconds: 0 } } };
    await using monitor = await start({ bootId: 'two', health });
    await until(() => monitor.status()[0]!.health.state === 'Healthy');
  });

  test('does not lose cards when their tools fall silent', async () => {
    const card = new Card();
    const health = { paces: { recovery: { observations: 2, milliseconds: 0 }, silence: { observations: 2, milliseconds: 0 } } };
    await using monitor = await start({ tools: [card], health });
    await until(() => monitor.status()[0]?.health.state === 'Healthy');
    card.failure = new GpuError('ToolTimeout', 'nvidia-smi');
    await until(() => monitor.status()[0]!.health.state === 'Unknown');
    expect(monitor.readings()).toEqual([]);
    expect(monitor.status()[0]!.gpu?.model).toBe('H200');
    card.failure = undefined;
    await until(() => monitor.status()[0]!.health.state === 'Healthy');
  });

  test('knows expected, cleared and removed cards', async () => {
    const kernel = new Kernel();
    const health = { paces: { recovery: { observations: 2, milliseconds: 0 }, silence: { observations: 2, milliseconds: 0 } } };
    await using monitor = await start({ kernelMessages: kernel, health });
    await until(() => monitor.status().length === 1);
    monitor.expect([{ uuid: 'GPU-x' }]);
    expect(monitor.status()[1]!.health.state).toBe('Missing');
    expect([uuid, 'GPU-x', 'GPU-y'].map((one) => monitor.isPresent(one))).toEqual([true, false, false]);
    await monitor.forget('GPU-x');
    kernel.say(48);
    await until(() => monitor.status()[0]!.health.state === 'Failed');
    await until(() => Date.now() > monitor.status()[0]!.health.since);
    await monitor.clear(uuid);
    await until(() => monitor.status()[0]!.health.state === 'Healthy');
    expect(monitor.status()).toHaveLength(1);
  });

  test('has stored that a card was cleared when it says so, even if the card is not well yet', async () => {
    const kernel = new Kernel();
    await using monitor = await start({ kernelMessages: kernel });
    await until(() => monitor.status().length === 1);
    kernel.say(79);
    await until(() => monitor.status()[0]!.health.state === 'Failed');
    await monitor.clear(uuid);
    const stored = JSON.parse(await readFile(join(folder, 'gpu-health.json'), 'utf8')) as { cards: { clearedAt: number }[] };
    expect(stored.cards[0]!.clearedAt).toBeGreaterThan(0);
  });

  test('starts empty when its files are spoiled, and says so', async () => {
    await writeFile(join(folder, 'gpu-health.json'), '{"cards": 3');
    await writeFile(join(folder, 'gpu-samples.bin'), 'x');
    {
      await using monitor = await start();
      expect(lines).toEqual([
        expect.stringContaining('gpu-health.json cannot be restored'),
        expect.stringContaining('gpu-samples.bin cannot be restored'),
      ]);
      await until(() => monitor.status().length === 1);
    }
    expect(JSON.parse(await readFile(join(folder, 'gpu-health.json'), 'utf8'))).toMatchObject({ bootId: 'one', cards: [{ uuid }] });
  });

  test('uses declared GPUs where they are asked for', async () => {
    const declaredPath = join(folder, 'gpus.yaml');
    await writeFile(declaredPath, 'gpus: [{model: MI300X, count: 8, memory: 192Gi}]');
    await using monitor = await GpuMonitor.start({
      machine: 'n1',
      stateFolder: folder,
      log: (line) => lines.push(line),
      intervals,
      declaredPath,
    });
    await until(() => monitor.status().length === 8);
    expect(monitor.status()[0]).toMatchObject({ health: { state: 'Healthy' }, gpu: { model: 'MI300X' } });
    expect(lines).toEqual([]);
  });
});
