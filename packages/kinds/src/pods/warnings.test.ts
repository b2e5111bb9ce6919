import type { KubeObject } from '@capstan/machinery';
import { describe, expect, test } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { workloadStrategies } from '../workloads.ts';

function warningsOf(resource: string, object: KubeObject): string[] {
  const strategy = workloadStrategies.get(resource)!;
  const context = contextOf();
  strategy.default?.(object);
  strategy.prepareForCreate?.(object, context);
  return context.warnings;
}

describe('warnings about likely mistakes', () => {
  test('in a pod template', () => {
    const pod = {
      terminationGracePeriodSeconds: -1,
      nodeSelector: { 'beta.kubernetes.io/arch': 'a' },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'DoNotSchedule' }],
      volumes: [{ name: 'g', glusterfs: { endpoints: 'e', path: 'p' } }],
      containers: [
        {
          name: 'a',
          image: 'x',
          env: [
            { name: 'A', value: '1' },
            { name: 'A', value: '2' },
          ],
          ports: [{ containerPort: 80 }, { containerPort: 80 }],
          resources: { limits: { memory: '100m' } },
        },
      ],
    };
    const spec = { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: pod } };
    expect(warningsOf('apps/deployments', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a.b' }, spec })).toEqual([
      'metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]',
      'spec.template.spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
      'spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
      'spec.template.spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+',
      'spec.template.spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
      'spec.template.spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
      'spec.template.spec.containers[0].ports[1]: duplicate port definition with spec.template.spec.containers[0].ports[0]',
      'spec.template.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    ]);
  });

  test('in a pod', () => {
    const spec = {
      hostAliases: [{ ip: '1.1.1.1' }, { ip: '1.1.1.1' }],
      imagePullSecrets: [{ name: '' }, { name: 'a' }, { name: 'a' }],
      containers: [
        { name: 'a', image: 'x', ports: [{ name: 'p', containerPort: 80 }] },
        { name: 'b', image: 'x', ports: [{ name: 'p', containerPort: 81 }] },
      ],
    };
    expect(warningsOf('/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a.b' }, spec })).toEqual([
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
      'spec.hostAliases[1].ip: duplicate ip "1.1.1.1"',
      'spec.imagePullSecrets[2].name: duplicate name "a"',
      'spec.imagePullSecrets[0].name: invalid empty name ""',
      'spec.containers[1].ports[0]: duplicate port name "p" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
    ]);
  });

  test('in a service', () => {
    const spec = { clusterIP: 'None', externalName: 'x' };
    expect(warningsOf('/services', { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec })).toEqual([
      'spec.SessionAffinity is ignored for headless services',
      'spec.externalName is ignored when spec.type is not "ExternalName"',
    ]);
  });

  test('not for a variable that extends its previous value', () => {
    const env = [
      { name: 'PATH', value: '/a' },
      { name: 'PATH', value: '/b:$(PATH)' },
    ];
    const spec = { containers: [{ name: 'a', image: 'x', env }] };
    expect(warningsOf('/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec })).toEqual([]);
  });

  test.each<[string, (template: object) => object, string]>([
    ['/podtemplates', (template) => ({ template }), 'template'],
    ['batch/cronjobs', (template) => ({ spec: { jobTemplate: { spec: { template } } } }), 'spec.jobTemplate.spec.template'],
  ])('about legacy annotations in %s', (resource, wrap, at) => {
    const annotations = { 'seccomp.security.alpha.kubernetes.io/pod': 'x', 'security.alpha.kubernetes.io/sysctls': 'y' };
    const term = { topologyKey: 'k' };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const spec = { containers: [{ name: 'a', image: 'x' }], affinity };
    const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'a' }, ...wrap({ metadata: { annotations }, spec }) };
    expect(warningsOf(resource, object)).toEqual([
      `${at}.metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead`,
      `${at}.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`,
      `${at}.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod`,
    ]);
  });

  test('about overlapping paths in volumes', () => {
    const items = [
      { key: 'a', path: 'x' },
      { key: 'b', path: 'x/y/' },
      { key: 'c', path: 'xy' },
    ];
    const volumes = [
      { name: 'c', configMap: { name: 'm', items } },
      { name: 'p', projected: { sources: [{}, { secret: { name: 's', items } }, { serviceAccountToken: { path: 'xy' } }] } },
    ];
    const spec = { volumes, containers: [{ name: 'a', image: 'x' }] };
    expect(warningsOf('/pods', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec })).toEqual([
      'volume "c" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
      'volume "p" (Projected) has no sources provided',
      'volume "p" (Projected): overlapping paths: "x/y" (Secret "s") with "x" (Secret "s")',
      'volume "p" (Projected): overlapping paths: "xy" (ServiceAccountToken) with "xy" (Secret "s")',
    ]);
  });
});
