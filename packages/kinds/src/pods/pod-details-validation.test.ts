import { expect, test } from 'vitest';
import { isLatest } from './pod-defaults.ts';
import { validatePodUpdate } from './pod-update.ts';
import { validatePod } from './pod-validation.ts';

const container = {
  name: 'c',
  image: 'i',
  imagePullPolicy: 'Always',
  terminationMessagePolicy: 'File',
};

function problems(spec: object, more: object = {}): string[] {
  const whole = { restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', containers: [{ ...container, ...more }], ...spec };
  return validatePod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: whole }).map(({ field, body }) => `${field}: ${body}`);
}

const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
const token = { name: 't', projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] } };

test.each([
  [{ os: { name: 'plan9' } }, 'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
  [{ os: {} }, 'spec.os.name: Required value'],
  [{ securityContext: { sysctls: [{ name: 'a.b' }, { name: 'a.b' }] } }, 'spec.securityContext.sysctls[1].name: Duplicate value: "a.b"'],
  [
    { dnsConfig: { searches: ['Not a domain'] } },
    'spec.dnsConfig.searches[0]: Invalid value: "Not a domain": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \'_\'',
  ],
  [
    { topologySpreadConstraints: [{ ...spread, matchLabelKeys: ['a'] }] },
    'spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set',
  ],
  [
    { topologySpreadConstraints: [{ ...spread, nodeTaintsPolicy: 'x' }] },
    'spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "x": supported values: "Honor", "Ignore"',
  ],
  [
    { volumes: [token] },
    'spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set',
  ],
  [
    { volumes: [{ name: 'v', iscsi: { targetPortal: '1.2.3.4', iqn: 'x', lun: 0 } }] },
    'spec.volumes[0].iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa',
  ],
])('rejects a pod with %j', (spec, message) => {
  expect(problems(spec).join('\n')).toContain(message);
});

test('rejects a preStop sleep longer than the grace period', () => {
  const sleeping = (seconds: number): string[] =>
    problems({ terminationGracePeriodSeconds: 5 }, { lifecycle: { preStop: { sleep: { seconds } } } });
  expect(sleeping(5)).toEqual([]);
  expect(sleeping(6)).toEqual([
    'spec.containers[0].lifecycle.preStop.sleep: Invalid value: 6: must be non-negative and less than terminationGracePeriodSeconds (5)',
  ]);
});

test('requires known resize policies, one for each resource', () => {
  const cpu = { resourceName: 'cpu', restartPolicy: 'NotRequired' };
  expect(problems({}, { resizePolicy: [cpu, { ...cpu, resourceName: 'memory' }] })).toEqual([]);
  expect(problems({}, { resizePolicy: [cpu, cpu] })).toEqual(['spec.containers[0].resizePolicy[1]: Duplicate value: "cpu"']);
  expect(problems({}, { resizePolicy: [{ ...cpu, restartPolicy: '' }] })).toEqual(['spec.containers[0].resizePolicy: Required value']);
});

test('an update that adds containers reports no other error', () => {
  const pod = (spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { ...spec } });
  const found = validatePodUpdate(
    pod({ containers: [container, container], initContainers: [container] }),
    pod({ containers: [container] }),
  );
  expect(found.map(({ field }) => field)).toEqual(['spec.containers']);
});

test.each([
  ['nginx', true],
  ['nginx:latest', true],
  ['nginx:1', false],
  ['Registry.example.com/a/b', true],
  ['registry:5000/a', true],
  ['a@sha256:0', false],
  ['Not an image!', false],
])('whether %j is a latest image: %j', (image, expected) => {
  expect(isLatest(image)).toBe(expected);
});
