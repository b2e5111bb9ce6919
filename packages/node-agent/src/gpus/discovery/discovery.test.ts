import type { GpuReading, GpuReport } from '@capstan/api';
import { describe, expect, test } from 'vitest';
import { parseDeclaration } from '../declared/declared.ts';
import { GpuError } from '../errors.ts';
import { parseXids, type XidEvent } from '../xid/kernel-log.ts';
import { discoverGpus } from './discovery.ts';
import type { GpuTools } from './tools.ts';

const intervals = { sample: 1, report: 1_000_000, absent: 1 };

/** A source whose answers a test changes while it runs. */
class Script implements GpuTools {
  readonly source = 'declared';
  present = true;
  mark = 'a';
  count = 2;
  failure: GpuError | undefined;
  sampleFailure: GpuError | undefined;
  reports = 0;
  samples = 0;

  isPresent(): Promise<boolean> {
    return Promise.resolve(this.present);
  }

  fingerprint(): Promise<string> {
    return Promise.resolve(this.mark);
  }

  report(): Promise<GpuReport> {
    this.reports++;
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(
      parseDeclaration({ text: `gpus: [{model: L4, count: ${this.count}}]`, machine: 'n1', observedAt: this.reports }),
    );
  }

  sample(): Promise<readonly GpuReading[]> {
    this.samples++;
    const failure = this.failure ?? this.sampleFailure;
    if (failure !== undefined) return Promise.reject(failure);
    return Promise.resolve(parseDeclaration({ text: `gpus: [{model: L4, count: ${this.count}}]`, machine: 'n1', observedAt: 0 }).readings);
  }
}

interface Seen {
  readonly reports: GpuReport[];
  readonly samples: (readonly GpuReading[])[];
  readonly silences: GpuError[];
  readonly xids: XidEvent[];
  readonly lines: string[];
}

async function follow(
  tools: readonly GpuTools[],
  act: (seen: Seen) => Promise<void>,
  kernelMessages?: { read(): Promise<XidEvent[]> },
): Promise<void> {
  const stop = new AbortController();
  const seen: Seen = { reports: [], samples: [], silences: [], xids: [], lines: [] };
  const running = discoverGpus({
    tools,
    signal: stop.signal,
    now: Date.now,
    log: (line) => seen.lines.push(line),
    intervals,
    ...(kernelMessages !== undefined && { kernelMessages }),
    listener: {
      report: (report) => seen.reports.push(report),
      sample: (_, __, readings) => seen.samples.push(readings),
      silence: (_, __, error) => seen.silences.push(error),
      xids: (_, xids) => seen.xids.push(...xids),
    },
  });
  try {
    await act(seen);
  } finally {
    stop.abort();
    await running;
  }
}

const until = (isSo: () => boolean): Promise<void> => expect.poll(isSo, { interval: 2, timeout: 20_000 }).toBe(true);

describe('discoverGpus', () => {
  test('reports at the start, and then only samples', async () => {
    const tools = new Script();
    await follow([tools], async ({ reports, samples }) => {
      await until(() => samples.length > 5);
      expect(reports).toHaveLength(1);
    });
  });

  test('reports again when the fingerprint changes', async () => {
    const tools = new Script();
    await follow([tools], async ({ reports, samples }) => {
      await until(() => samples.length > 0);
      tools.mark = 'b';
      await until(() => reports.length === 2);
    });
  });

  test('reports again when a sample shows other cards, or fails', async () => {
    const tools = new Script();
    await follow([tools], async ({ reports, samples, silences }) => {
      await until(() => samples.length > 0);
      tools.count = 1;
      await until(() => reports.at(-1)!.gpus.length === 1);
      tools.sampleFailure = new GpuError('ToolFailed', 'no such option');
      const before = reports.length;
      await until(() => reports.length > before + 2);
      expect(silences).toEqual([]);
    });
  });

  test('tells of silence in one line, and goes on', async () => {
    const tools = new Script();
    tools.failure = new GpuError('ToolTimeout', 'nvidia-smi -q -x');
    await follow([tools], async ({ reports, silences, lines }) => {
      await until(() => silences.length > 3);
      expect(lines).toEqual(['the declared GPUs cannot be read: the tool does not answer: nvidia-smi -q -x']);
      expect(reports).toEqual([]);
      tools.failure = undefined;
      await until(() => reports.length > 0 && lines.length > 1);
      expect(lines[1]).toContain('can be read again');
    });
  });

  test('finds tools that are installed later', async () => {
    const tools = new Script();
    tools.present = false;
    await follow([tools], async ({ reports }) => {
      expect(tools.reports).toBe(0);
      tools.present = true;
      await until(() => reports.length > 0);
    });
  });

  test('does not let one source wait for another', async () => {
    const hanging = new Script();
    hanging.report = () => new Promise(() => {});
    const stop = new AbortController();
    const reports: GpuReport[] = [];
    const listener = { report: (report: GpuReport) => void reports.push(report), sample: () => {}, silence: () => {}, xids: () => {} };
    void discoverGpus({ tools: [hanging, new Script()], signal: stop.signal, now: Date.now, log: () => {}, intervals, listener });
    await until(() => reports.length === 1);
    stop.abort();
  });

  test('reports again after a grave Xid and not after a harmless one', async () => {
    const tools = new Script();
    let next: XidEvent[] = [];
    const kernel = { read: () => Promise.resolve(next.splice(0)) };
    const line = (code: number): XidEvent[] => parseXids(`NVRM: Xid (PCI:0000:00:06): ${code}, x`, { bootedAt: 0, now: 0 });
    await follow(
      [tools],
      async ({ reports, samples, xids }) => {
        await until(() => samples.length > 0);
        next = line(31);
        await until(() => xids.length === 1);
        const seen = samples.length;
        await until(() => samples.length > seen + 2);
        expect(reports).toHaveLength(1);
        next = line(79);
        await until(() => reports.length === 2);
      },
      kernel,
    );
  });

  test('says once that the kernel cannot be read', async () => {
    const kernel = { read: () => Promise.reject(new Error('EPERM')) };
    await follow(
      [new Script()],
      async ({ lines, samples }) => {
        await until(() => samples.length > 5);
        expect(lines).toEqual([expect.stringContaining('Xids are not seen')]);
      },
      kernel,
    );
  });
});
