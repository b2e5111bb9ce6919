import { asClusterId } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import type { Attributes } from '../authz/attributes.ts';
import { asking } from '../authz/testing.ts';
import { type DenialLimits, Denials, isDenied } from './denials.ts';
import { type AuditedRequest, eventLine } from './event.ts';

const recording = { level: 'Metadata', omitStages: [], omitManagedFields: true } as const;

interface Asked {
  readonly source?: string;
  readonly user?: string;
  readonly verb?: string;
  readonly what?: Partial<Attributes>;
  readonly code?: number;
  readonly allowed?: boolean;
}

function request({ source = '10.0.0.1', user = 'jane', verb = 'get', what, code = 403, allowed = false }: Asked): AuditedRequest {
  return {
    auditId: 'id',
    stage: 'ResponseComplete',
    requestUri: '/api/v1/pods',
    attributes: asking({ name: user, groups: [] }, verb, what ?? { resource: 'pods', namespace: 'shop', name: 'web' }),
    sourceIps: [source],
    receivedAt: new Date('2026-01-02T03:04:05Z'),
    at: new Date('2026-01-02T03:04:06Z'),
    response: { code },
    decision: { allowed, reason: '' },
    annotations: { 'tenancy.kcp.io/workspace': what?.cluster ?? 'root' },
  };
}

function denials(limits: Partial<DenialLimits> = {}) {
  const summaries: { annotations: Record<string, string>; sourceIPs: string[]; user: { username: string } }[] = [];
  let now = 0;
  const all = new Denials(
    (line) => summaries.push(JSON.parse(line)),
    { alike: 2, perSource: 4, perSecond: 1, burst: 1000, ...limits },
    () => now,
  );
  const ask = (asked: Asked): boolean => {
    const one = request(asked);
    return all.isRecorded(one, () => eventLine(one, recording));
  };
  return {
    all,
    ask,
    recorded: (requests: readonly Asked[]): number => requests.filter(ask).length,
    pass: (milliseconds: number): void => void (now += milliseconds),
    /** The summaries written at the end of a window: how many requests, and what they had in common. */
    flush: (): string[] => {
      all.flush();
      return summaries
        .splice(0)
        .map(({ annotations }) => `${annotations['capstan.dev/repeated']} ${annotations['capstan.dev/repeated-alike']}`);
    },
    summaries,
  };
}

const times = (count: number, asked: (index: number) => Asked): Asked[] => Array.from({ length: count }, (_, index) => asked(index));

describe('isDenied', () => {
  it.each<[boolean, number, boolean | undefined]>([
    [true, 403, false],
    [true, 401, undefined],
    [true, 403, undefined],
    [true, 429, true],
    [true, 500, false],
    [false, 403, true],
    [false, 201, true],
    [false, 404, true],
    [false, 400, undefined],
  ])('returns %s for code %d when allowed is %s', (expected, code, allowed) => {
    const { decision: _decision, ...rest } = request({ code });
    expect(isDenied(allowed === undefined ? rest : { ...rest, decision: { allowed, reason: '' } })).toBe(expected);
  });
});

describe('denials', () => {
  it('that are alike are recorded a few times, then counted, whatever names they use', () => {
    const { recorded, flush, all } = denials();
    expect(recorded(times(100, (index) => ({ what: { resource: 'pods', namespace: `n-${index}`, name: `p-${index}` } })))).toBe(2);
    expect(all.counted).toBe(98);
    expect(flush()).toEqual(['98 source, user, verb, path']);
    expect(flush()).toEqual([]);
  });

  it('are counted for each workspace, and a summary over several names none', () => {
    const { all, recorded, summaries } = denials({ alike: 0, perSource: 0 });
    const inside = (cluster: string): Asked[] => times(2, () => ({ what: { cluster: asClusterId(cluster), resource: 'pods' } }));
    recorded([...inside('one'), ...inside('two')]);
    for (let index = 0; index < 20; index++) recorded(inside(`many-${index}`));
    all.flush();
    const told = summaries.map(({ annotations }) => [annotations['tenancy.kcp.io/workspace'], annotations['capstan.dev/repeated']]);
    expect(told.slice(0, 2)).toEqual([
      ['one', '2'],
      ['two', '2'],
    ]);
    expect(told.at(-1)).toEqual([undefined, '28']);
  });
  it('are recorded individually again in the next window', () => {
    const { recorded, flush } = denials();
    const same = times(3, () => ({}));
    expect(recorded(same)).toBe(2);
    flush();
    expect(recorded(same)).toBe(2);
  });

  it('from one source with many paths are limited too, and all are counted', () => {
    const { recorded, flush } = denials();
    expect(recorded(times(1000, (index) => ({ what: { path: `/${index}/x` } })))).toBe(4);
    const counts = flush();
    expect(counts.length).toBeLessThan(10);
    expect(counts.at(-1)).toMatch(/^\d+ source, user$/);
    expect(counts.reduce((sum, text) => sum + Number.parseInt(text, 10), 0)).toBe(996);
  });

  it('from many sources are limited in total, and all are counted', () => {
    const { recorded, flush, pass } = denials({ burst: 10, perSecond: 5 });
    const attack = (count: number): Asked[] => times(count, (index) => ({ source: `10.1.${index >> 8}.${index & 255}` }));
    expect(recorded(attack(2000))).toBe(10);
    pass(2000);
    expect(recorded(attack(2000))).toBe(10);
    const counts = flush();
    expect(counts).toHaveLength(101);
    expect(counts.at(-1)).toMatch(/^\d+ none$/);
    expect(counts.reduce((sum, text) => sum + Number.parseInt(text, 10), 0)).toBe(3980);
  });

  it('from other sources are recorded while one source floods the log', () => {
    const { recorded, ask } = denials();
    recorded(times(10_000, (index) => ({ what: { path: `/${index}` } })));
    expect([ask({ source: '10.0.0.2' }), ask({ user: 'joe' })]).toEqual([true, true]);
  });

  it('are grouped by /64 network for IPv6, not by address', () => {
    const { recorded } = denials();
    expect(recorded(times(100, (index) => ({ source: `2001:db8::${index.toString(16)}` })))).toBe(2);
  });

  it('are summarized in an event based on the first one that was counted', () => {
    const { recorded, all, summaries } = denials();
    recorded(times(7, () => ({})));
    all.flush();
    expect(summaries).toMatchObject([
      {
        kind: 'Event',
        stage: 'ResponseComplete',
        user: { username: 'jane' },
        sourceIPs: ['10.0.0.1'],
        objectRef: { resource: 'pods' },
        responseStatus: { code: 403 },
        requestReceivedTimestamp: '2026-01-02T03:04:05.000000Z',
        stageTimestamp: '2026-01-02T03:04:06.000000Z',
        annotations: { 'authorization.k8s.io/decision': 'forbid', 'capstan.dev/repeated': '5' },
      },
    ]);
  });

  it('use little memory and disk, whatever clients send', () => {
    const long = 'x'.repeat(60_000);
    let written = 0;
    const all = new Denials((line) => void (written += line.length));
    for (let index = 0; index < 1_000; index++) {
      const one = request({ source: `10.0.${index >> 8}.${index & 255}`, user: `${long}${index}`, what: { path: `/${long}` } });
      all.isRecorded({ ...one, requestUri: long }, () => eventLine({ ...one, requestUri: long }, recording));
    }
    all.flush();
    expect(all.counted).toBeGreaterThan(700);
    expect(written).toBeLessThan(500_000);
  });
});
