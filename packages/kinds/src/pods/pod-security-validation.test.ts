import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';
import { adoptAppArmor } from './pod-security-validation.ts';

function problems(spec: object, annotations: Record<string, string> = {}): string[] {
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations },
    spec: { containers: [{ name: 'a', image: 'b' }], ...spec },
  };
  const strategy = workloadStrategies.get('/pods')!;
  strategy.default?.(pod);
  return strategy.validate!(pod, contextOf()).map(({ field, body }) => `${field}: ${body}`);
}

describe('the security context of a pod', () => {
  const at = 'spec.securityContext';
  test.each([
    [
      { seccompProfile: { type: 'Unconfined', localhostProfile: 'a' } },
      `${at}.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost`,
    ],
    [
      { seccompProfile: { type: 'Localhost', localhostProfile: '/a' } },
      `${at}.seccompProfile.localhostProfile: Invalid value: "/a": must be a relative path`,
    ],
    [{ appArmorProfile: {} }, `${at}.appArmorProfile.type: Required value: type is required when appArmorProfile is set`],
    [
      { appArmorProfile: { type: 'Localhost' } },
      `${at}.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
    ],
    [
      { appArmorProfile: { type: 'x' } },
      `${at}.appArmorProfile.type: Unsupported value: "x": supported values: "Localhost", "RuntimeDefault", "Unconfined"`,
    ],
    [{ supplementalGroupsPolicy: 'x' }, `${at}.supplementalGroupsPolicy: Unsupported value: "x": supported values: "Merge", "Strict"`],
  ])('%j', (securityContext, expected) => {
    expect(problems({ securityContext })).toEqual([expected]);
  });

  test('rejects windows options in a linux pod', () => {
    expect(problems({ os: { name: 'linux' }, securityContext: { windowsOptions: {} } })).toEqual([
      `${at}.windowsOptions: Forbidden: windows options cannot be set for a linux pod`,
    ]);
  });
});

describe('legacy annotations', () => {
  const appArmor = 'container.apparmor.security.beta.kubernetes.io/';
  test.each([
    [
      'seccomp.security.alpha.kubernetes.io/pod',
      'x',
      'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile',
    ],
    [`${appArmor}b`, 'unconfined', `metadata.annotations[${appArmor}b]: Invalid value: "b": container not found`],
    [`${appArmor}a`, 'x', `metadata.annotations[${appArmor}a]: Invalid value: "x": invalid AppArmor profile name: "x"`],
    [
      'kubernetes.io/config.mirror',
      'x',
      'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
    ],
    [
      'controller.kubernetes.io/pod-deletion-cost',
      '1.5',
      'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "1.5": must be a 32bit integer',
    ],
  ])('%s: %s', (key, value, expected) => {
    expect(problems({}, { [key]: value })).toEqual([expected]);
  });

  test('set the AppArmor profile field, with a warning', () => {
    const spec = { containers: [{ name: 'a' }] };
    const warnings: string[] = [];
    adoptAppArmor(spec, { [`${appArmor}a`]: 'localhost/x' }, (warning) => warnings.push(warning));
    expect(spec.containers[0]).toEqual({ name: 'a', securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'x' } } });
    expect(warnings).toEqual([`metadata.annotations[${appArmor}a]: deprecated since v1.30; use the "appArmorProfile" field instead`]);
  });
});

describe('claims', () => {
  test.each([
    [
      { resourceClaims: [{ name: 'a' }] },
      'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    ],
    [
      { containers: [{ name: 'a', image: 'b', resources: { claims: [{ name: 'x' }] } }] },
      'spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty',
    ],
  ])('%j', (spec, expected) => {
    expect(problems(spec)).toEqual([expected]);
  });
});
