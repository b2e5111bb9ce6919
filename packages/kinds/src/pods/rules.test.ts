import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { scheduleProblem } from '../batch/cron.ts';
import { isStrictlyWithin, parseRange, rangeProblems } from '../services/addresses.ts';
import { scaleMappings } from '../shared/scale.ts';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';
import { podGracePeriod } from './pod.ts';
import { isLatest } from './pod-defaults.ts';
import { qualityOf } from './quality.ts';

const pod = (spec: object, status: object = {}): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec, status });

test.each([
  ['nginx', true],
  ['nginx:latest', true],
  ['nginx:1', false],
  ['registry:5000/nginx', true],
  ['registry:5000/nginx:1', false],
  ['nginx@sha256:abc', false],
  ['nginx:latest@sha256:abc', true],
])('image %s is a latest image: %s', (image, latest) => expect(isLatest(image)).toBe(latest));

test.each([
  ['never ran', pod({}), undefined, 0],
  ['ended', pod({ nodeName: 'n', terminationGracePeriodSeconds: 30 }, { phase: 'Succeeded' }), undefined, 0],
  ['runs', pod({ nodeName: 'n', terminationGracePeriodSeconds: 30 }, { phase: 'Running' }), undefined, 30],
  ['runs, if the client requests a period', pod({ nodeName: 'n', terminationGracePeriodSeconds: 30 }), 5, 5],
  ['has a negative period', pod({ nodeName: 'n', terminationGracePeriodSeconds: -4 }), undefined, 1],
])('grace period of a pod that %s', (_title, object, requested, seconds) => expect(podGracePeriod(object, requested)).toBe(seconds));

describe('quality of service of a pod that', () => {
  const withResources = (...resources: object[]) => ({ containers: resources.map((each) => ({ resources: each })) });
  const whole = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1000m', memory: '1024Mi' } };
  test.each([
    ['requests nothing', withResources({}), 'BestEffort'],
    ['requests neither cpu nor memory', withResources({ limits: { 'nvidia.com/gpu': '1' } }), 'BestEffort'],
    ['has limits equal to its requests', withResources(whole, whole), 'Guaranteed'],
    ['has one container without limits', withResources(whole, {}), 'Burstable'],
    ['has limits above its requests', withResources({ requests: { cpu: '1' }, limits: { cpu: '2' } }), 'Burstable'],
  ])('%s', (_title, spec, quality) => expect(qualityOf(spec)).toBe(quality));
});

describe('cron schedules', () => {
  test.each(['* * * * *', '*/5 0-6 1,15 jan-MAR mon', '@hourly', '@every 1h30m', '? ? ? ? ?'])('accepts %s', (schedule) =>
    expect(scheduleProblem(schedule)).toBeUndefined(),
  );
  test.each([
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['*/1/2 * * * *', 'too many slashes: */1/2'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['@sometimes', 'unrecognized descriptor: @sometimes'],
  ])('rejects %s: %s', (schedule, problem) => expect(scheduleProblem(schedule)).toBe(problem));
});

describe('CIDR ranges', () => {
  test.each(['10.0.0.0/8', '::/0', 'fd00::1/64', '::ffff:10.0.0.1/120'])('accepts %s', (range) => expect(rangeProblems(range)).toEqual([]));
  test.each(['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '::/129', '10.0.0.0/-1', '10.0.0.0/'])('rejects %s', (range) =>
    expect(rangeProblems(range)).toHaveLength(1),
  );
  test.each([
    ['10.1.0.0/16', '10.0.0.0/8', true],
    ['11.0.0.0/16', '10.0.0.0/8', false],
    ['10.0.0.0/8', '10.0.0.0/8', false],
    ['fd00:1::/32', 'fd00::/16', true],
    ['fd00::/16', '0.0.0.0/0', false],
  ])('%s is strictly within %s: %s', (inner, outer, within) =>
    expect(isStrictlyWithin(parseRange(inner)!, parseRange(outer)!)).toBe(within),
  );
});

describe('status', () => {
  const deployment = (status: object): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', labels: { a: 'b' } },
    spec: { replicas: 1 },
    status,
  });
  const strategy = workloadStrategies.get('apps/deployments')!;

  test('is not changed by an update of the object', () => {
    const object = deployment({ replicas: 9 });
    strategy.prepareForUpdate!(object, deployment({ replicas: 1 }), contextOf());
    expect(object['status']).toEqual({ replicas: 1 });
  });
  test('is all that the status subresource changes', () => {
    const object = { ...deployment({ replicas: 9 }), spec: { replicas: 5 }, metadata: { name: 'd', labels: { c: 'd' } } };
    strategy.status!.prepareForUpdate!(object, deployment({}), contextOf());
    expect(object).toEqual(deployment({ replicas: 9 }));
  });
  test('must be consistent', () => {
    const errors = strategy.status!.validate!(
      deployment({ replicas: 1, readyReplicas: 2, availableReplicas: 3, updatedReplicas: -1 }),
      contextOf(),
    );
    expect(errors.map((error) => `${error.field}: ${error.body}`)).toEqual([
      'status.updatedReplicas: Invalid value: -1: must be greater than or equal to 0',
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    ]);
  });
});

test.each([
  ['apps/deployments', { matchLabels: { b: '2', a: '1' } }, 'a=1,b=2'],
  ['/replicationcontrollers', { b: '2', a: '1' }, 'a=1,b=2'],
])('%s have a selector in their scale', (resource, selector, text) => {
  expect(scaleMappings.get(resource)!.selectorOf({ apiVersion: 'v1', kind: 'K', metadata: {}, spec: { selector } })).toBe(text);
});

describe('field selectors', () => {
  test('are exactly the fields that each strategy returns', () => {
    for (const [resource, strategy] of workloadStrategies) {
      const fields = strategy.selectableFields?.({ apiVersion: 'v1', kind: 'K', metadata: {} }) ?? {};
      expect([resource, Object.keys(fields).sort()]).toEqual([resource, [...(strategy.selectableLabels ?? [])].sort()]);
    }
  });
});
