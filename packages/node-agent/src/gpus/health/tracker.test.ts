import { type Gpu, type GpuHealthState, type GpuReport, type GpuStatus, gpuHealthStates } from '@capstan/api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDeclaration } from '../declared/declared.ts';
import { parseNvidiaReport } from '../nvidia/report.ts';
import { fixture } from '../testing.ts';
import { parseXids, type XidEvent } from '../xid/kernel-log.ts';
import { emptyBook, type HealthBook, type HealthEvent, healthOf, track } from './tracker.ts';

const paces = { recovery: { observations: 3, milliseconds: 60_000 }, silence: { observations: 2, milliseconds: 30_000 } };
const minute = 60_000;
const eight = fixture('nvidia-h100x8/nvidia-smi-q.xml');
/** Without the second card. */
const seven = eight.replace('<attached_gpus>8', '<attached_gpus>7').replace(/\t<gpu id="00000000:43[\s\S]*?<\/gpu>\n/, '');
/** The kernel says that a card has been reset. */
const wasReset = 'GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)';
const reportAt = (at: number, query = eight): GpuReport => parseNvidiaReport({ query, observedAt: at });
const xid = (code: number, at: number, detail = ''): XidEvent[] =>
  parseXids(`[${(at / 1000).toFixed(6)}] NVRM: Xid (PCI:0000:43:00): ${code}, ${detail}`, { bootedAt: 0, now: at });
const follow = (book: HealthBook, events: readonly HealthEvent[]): HealthBook =>
  events.reduce((before, event) => track(before, event, { paces, watchFor: 60 * minute }), book);
const report = (at: number, query?: string): HealthEvent => ({ type: 'report', report: reportAt(at, query) });
const change = (at: number, changed: Partial<Gpu>): HealthEvent => {
  const whole = reportAt(at);
  return { type: 'report', report: { ...whole, gpus: whole.gpus.map((gpu, index) => (index === 1 ? { ...gpu, ...changed } : gpu)) } };
};
/** The second card, which the tests are about. */
const second = (book: HealthBook): GpuStatus => healthOf(book)[1]!;
const states = (book: HealthBook): GpuHealthState[] => healthOf(book).map(({ health }) => health.state);
const healthy = follow(emptyBook, [report(1000)]);

describe('reports', () => {
  test('make cards healthy at once after a start', () => {
    expect(states(healthy)).toEqual(Array.from({ length: 8 }, () => 'Healthy'));
    expect(second(healthy).health.since).toBe(1000);
  });

  test('a real card with repaired errors of its lifetime is healthy (recorded)', () => {
    expect(states(follow(emptyBook, [report(1000, fixture('nvidia-h200-loaded/nvidia-smi-q.xml'))]))).toEqual(['Healthy']);
  });

  test('name a card that vanishes by uuid and bus, and wait until its return lasts', () => {
    const gone = follow(healthy, [report(2000, seven)]);
    expect(second(gone).health).toEqual({
      state: 'Missing',
      reason: 'Missing',
      message: 'GPU-00000001-aaaa-bbbb-cccc-dddddddddddd at 0000:43:00.0: the driver does not show it any more',
      since: 2000,
    });
    expect(states(gone).filter((state) => state === 'Healthy')).toHaveLength(7);
    const back = follow(gone, [report(3000), report(30_000)]);
    expect(second(back).health).toMatchObject({ state: 'Missing', since: 2000 });
    expect(second(follow(back, [report(64_000)])).health).toMatchObject({ state: 'Healthy', since: 64_000 });
  });

  test('a lost card is failed and the others are not', () => {
    const book = follow(healthy, [report(2000, fixture('nvidia-broken/lost-of-8.xml'))]);
    expect(healthOf(book)[3]!.health).toMatchObject({ state: 'Failed', reason: 'Unreachable' });
    expect(states(book).filter((state) => state === 'Healthy')).toHaveLength(7);
  });

  test('a lost card that was never seen is known by its bus, until it is seen', () => {
    const book = follow(emptyBook, [report(1000, fixture('nvidia-broken/lost-of-8.xml'))]);
    expect(healthOf(book).at(-1)).toMatchObject({ uuid: 'pci-0000:61:00.0', health: { state: 'Failed' } });
    expect(healthOf(follow(book, [report(2000)])).map(({ uuid }) => uuid)).not.toContain('pci-0000:61:00.0');
  });

  test.each<[string, Partial<Gpu>, GpuHealthState, string]>([
    ['a failed repair', { repairs: { pending: false, failed: true } }, 'Failed', 'MemoryRepairFailed'],
    ['a pending repair', { repairs: { pending: true, failed: false } }, 'Degraded', 'MemoryRepairPending'],
    ['a reset that the driver asks for', { recoveryAction: 'reset' }, 'Failed', 'ResetRequired'],
    ['a restart that the driver asks for', { recoveryAction: 'reboot' }, 'Failed', 'RebootRequired'],
    ['a drain that the driver asks for', { recoveryAction: 'drain-and-reset' }, 'Degraded', 'DrainRequired'],
    ['uncorrectable errors', { ecc: { mode: 'enabled', volatile: { correctable: 0, uncorrectable: 2 } } }, 'Degraded', 'UncorrectableEcc'],
    ['too many errors on the chip', { ecc: { mode: 'enabled', sramThresholdExceeded: true } }, 'Failed', 'EccThresholdExceeded'],
    ['nothing', {}, 'Healthy', 'Healthy'],
  ])('%s', (_, changed, state, reason) => {
    expect(second(follow(healthy, [change(2000, changed)])).health).toMatchObject({ state, reason });
  });

  test('of one source say nothing about the cards of another', () => {
    const declared = parseDeclaration({ text: 'gpus: [{model: L4}]', machine: 'n1', observedAt: 2000 });
    expect(states(follow(healthy, [{ type: 'report', report: declared }]))).toEqual(Array.from({ length: 9 }, () => 'Healthy'));
  });
});

describe('samples', () => {
  const uuid = second(healthy).uuid;
  const sample = (at: number, changed: object): HealthEvent => ({
    type: 'sample',
    at,
    readings: [{ uuid, throttle: [], unreadable: [], processes: [], ...changed }],
  });

  test('degrade a card that overheats or cannot be read, until that has been over for a while', () => {
    const hot = follow(healthy, [sample(2000, { throttle: ['hardware-thermal'] })]);
    expect(second(hot).health).toMatchObject({ state: 'Degraded', reason: 'Overheated' });
    expect(second(follow(healthy, [sample(2000, { unreadable: ['temperature.gpu'] })])).health).toMatchObject({
      reason: 'UnreadableFields',
    });
    const cool = follow(hot, [sample(10_000, {}), sample(40_000, {})]);
    expect(second(cool).health).toMatchObject({ state: 'Degraded', reason: 'Overheated' });
    expect(second(follow(cool, [sample(70_000, {})])).health.state).toBe('Healthy');
  });

  test('do not mind a power cap', () => {
    expect(second(follow(healthy, [sample(2000, { throttle: ['software-power-cap'] })])).health.state).toBe('Healthy');
  });
});

describe('silence', () => {
  const silence = (at: number): HealthEvent => ({
    type: 'silence',
    at,
    source: 'nvidia',
    unreachable: [],
    why: 'nvidia-smi does not answer',
  });

  test('makes cards unknown when it lasts, and nothing else', () => {
    const once = follow(healthy, [silence(2000)]);
    expect(states(once)).toEqual(states(healthy));
    const lasting = follow(once, [silence(40_000)]);
    expect(new Set(states(lasting))).toEqual(new Set(['Unknown']));
    expect(second(lasting).health).toMatchObject({
      reason: 'ToolsSilent',
      message: expect.stringContaining('nvidia-smi does not answer') as string,
    });
  });

  test('does not excuse a failed card', () => {
    const failed = follow(healthy, [change(2000, { recoveryAction: 'reset' }), silence(3000), silence(60_000)]);
    expect(second(failed).health).toMatchObject({ state: 'Failed', reason: 'ResetRequired', since: 2000 });
  });

  test('names the cards that the tools cannot reach', () => {
    const book = follow(healthy, [{ ...silence(2000), unreachable: [{ pciBusId: '0000:43:00.0', why: 'GPU is lost' }] } as HealthEvent]);
    expect(second(book).health).toMatchObject({ state: 'Failed', reason: 'Unreachable' });
    expect(states(book).filter((state) => state === 'Failed')).toHaveLength(1);
  });
});

describe('Xids', () => {
  test('of programs leave the card healthy', () => {
    const noisy = follow(
      healthy,
      [13, 31, 43, 45].map((code, index) => ({ type: 'xids', at: 2000 + index, xids: xid(code, 2000 + index) })),
    );
    expect(second(noisy).health.state).toBe('Healthy');
  });

  test('that are watched expire', () => {
    const marked = follow(healthy, [{ type: 'xids', at: 2000, xids: xid(63, 2000, 'Row Remapper: New row marked') }]);
    expect(second(marked).health).toMatchObject({ state: 'Degraded', reason: 'Xid63' });
    expect(states(marked).filter((state) => state === 'Healthy')).toHaveLength(7);
    const later = [61, 62, 63].map((minutes) => report(minutes * minute));
    expect(second(follow(marked, later)).health.state).toBe('Healthy');
  });

  test('that condemn hold until the machine has been restarted', () => {
    const condemned = follow(healthy, [
      { type: 'boot', at: 1, bootId: 'one' },
      { type: 'xids', at: 2000, xids: xid(79, 2000, 'GPU has fallen off the bus.') },
    ]);
    expect(second(condemned).health).toMatchObject({ state: 'Failed', reason: 'Xid79' });
    const reset = follow(condemned, [
      { type: 'xids', at: 3000, xids: xid(154, 3000, wasReset) },
      ...[10, 2000, 4000].map((minutes) => report(minutes * minute)),
    ]);
    expect(second(reset).health).toMatchObject({ state: 'Failed', reason: 'Xid79', since: 2000 });
    const restarted = follow(reset, [
      { type: 'boot', at: 5000 * minute, bootId: 'two' },
      ...[5001, 5002, 5003].map((minutes) => report(minutes * minute)),
    ]);
    expect(second(restarted).health.state).toBe('Healthy');
  });

  test('that need a reset hold until the reset', () => {
    const stuck = follow(healthy, [
      { type: 'xids', at: 2000, xids: xid(119, 2000) },
      ...[10, 20, 30].map((minutes) => report(minutes * minute)),
    ]);
    expect(second(stuck).health).toMatchObject({ state: 'Failed', reason: 'Xid119' });
    const told = follow(stuck, [
      { type: 'xids', at: 31 * minute, xids: xid(154, 31 * minute, wasReset) },
      ...[32, 33, 34].map((minutes) => report(minutes * minute)),
    ]);
    expect(second(told).health.state).toBe('Healthy');
  });

  test('are kept for cards that have not been seen yet', () => {
    const early = follow(emptyBook, [{ type: 'xids', at: 500, xids: xid(79, 400) }, report(1000)]);
    expect(second(early).health).toMatchObject({ state: 'Failed', reason: 'Xid79' });
  });

  test('explain why a card is missing', () => {
    const gone = follow(healthy, [{ type: 'xids', at: 2000, xids: xid(79, 2000) }, report(3000, seven)]);
    expect(second(gone).health).toMatchObject({ state: 'Missing', message: expect.stringContaining('before that: Xid 79') as string });
  });

  test('can be cleared by an owner, also when the log is read again', () => {
    const uuid = second(healthy).uuid;
    const cleared = follow(healthy, [
      { type: 'xids', at: 2000, xids: xid(48, 2000) },
      { type: 'cleared', at: 3000, uuid },
      { type: 'xids', at: 4000, xids: xid(48, 2000) },
      ...[1, 2, 3].map((minutes) => report(minutes * minute)),
    ]);
    expect(second(cleared).health.state).toBe('Healthy');
  });

  test('are bounded, and the gravest is kept', () => {
    const many = Array.from({ length: 500 }, (_, index) => xid(63, 3000 + index)[0]!);
    const book = follow(healthy, [
      { type: 'xids', at: 2000, xids: xid(79, 2000) },
      { type: 'xids', at: 4000, xids: many },
    ]);
    expect(second(book).health).toMatchObject({ state: 'Failed', reason: 'Xid79' });
    expect(JSON.stringify(book).length).toBeLessThan(50_000);
  });
});

describe('expected cards', () => {
  const expected: HealthEvent = { type: 'expected', at: 2000, gpus: [{ uuid: 'GPU-x', pciBusId: '0000:99:00.0' }] };

  test('that were never seen are missing once the others are', () => {
    expect(healthOf(follow(healthy, [expected])).at(-1)).toMatchObject({ uuid: 'GPU-x', health: { state: 'Missing' } });
    expect(healthOf(follow(emptyBook, [expected])).at(-1)).toMatchObject({ health: { state: 'Unknown', reason: 'NotObserved' } });
    expect(healthOf(follow(emptyBook, [expected, report(3000)]))[0]).toMatchObject({ uuid: 'GPU-x', health: { state: 'Missing' } });
  });

  test('can be removed', () => {
    expect(healthOf(follow(healthy, [expected, { type: 'removed', at: 3000, uuid: 'GPU-x' }]))).toHaveLength(8);
  });

  test('that were never seen go when nobody expects them any more, and others stay', () => {
    const nothing: HealthEvent = { type: 'expected', at: 3000, gpus: [] };
    expect(healthOf(follow(healthy, [expected, nothing]))).toEqual(healthOf(healthy));
    const gone = follow(healthy, [expected, report(4000, seven)]);
    expect(healthOf(follow(gone, [nothing])).map(({ health }) => health.state)).toEqual(
      healthOf(gone)
        .slice(0, 8)
        .map(({ health }) => health.state),
    );
  });
});

describe('any history', () => {
  const kinds = fc.constantFrom<(at: number) => HealthEvent>(
    (at) => report(at),
    (at) => report(at, seven),
    (at) => change(at, { recoveryAction: 'reset' }),
    (at) => ({ type: 'silence', at, source: 'nvidia', unreachable: [], why: 'x' }),
    (at) => ({ type: 'xids', at, xids: xid(31, at) }),
    (at) => ({ type: 'xids', at, xids: xid(63, at) }),
    (at) => ({ type: 'xids', at, xids: xid(79, at) }),
    (at) => ({ type: 'boot', at, bootId: `boot ${at % 3}` }),
  );

  test('keeps every card that was ever seen, and survives being stored', () => {
    fc.assert(
      fc.property(fc.array(kinds, { maxLength: 20 }), (events) => {
        const dated = events.map((event, index) => event((index + 1) * 20_000));
        const direct = follow(healthy, dated);
        const stored = dated.reduce((book, event) => follow(JSON.parse(JSON.stringify(book)) as HealthBook, [event]), healthy);
        expect(healthOf(stored)).toEqual(healthOf(direct));
        expect(healthOf(direct)).toHaveLength(8);
        for (const { health } of healthOf(direct)) expect(gpuHealthStates).toContain(health.state);
      }),
      { numRuns: 30 },
    );
  });

  test('in which only programs fail leaves the card healthy', () => {
    const harmless = fc.array(fc.constantFrom(8, 13, 31, 32, 43, 45, 69), { maxLength: 40 });
    fc.assert(
      fc.property(harmless, (codes) => {
        const events = codes.map((code, index): HealthEvent => ({ type: 'xids', at: 2000 + index, xids: xid(code, 2000 + index) }));
        expect(second(follow(healthy, events)).health.state).toBe('Healthy');
      }),
    );
  });
});
