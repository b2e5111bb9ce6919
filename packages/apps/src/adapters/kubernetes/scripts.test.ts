import { expect, test } from 'vitest';
import { scriptsOf } from '../../adapter/scripts.ts';
import { exitCodes } from './exit-codes.ts';
import { kubernetesRegistration } from './registration.ts';

const scripts = scriptsOf('kubernetes');

test.each(scripts.map(({ name, content }) => [name, content] as const))(
  '%s explains itself, and every exit code has a code',
  (name, content) => {
    const used = [...content.matchAll(/(?:\bfail|\bexit|give_up|code=)\s*(\d+)\b/g)]
      .map(([, code]) => code!)
      .filter((code) => code !== '0');
    const known = Object.keys(exitCodes[name.replace('kubernetes-', '') as keyof typeof exitCodes] ?? {});
    expect([...new Set(used)].sort()).toEqual(known.sort());
    expect(content.startsWith('#!/bin/sh\n# ')).toBe(true);
  },
);

test('all apps are labelled self-managed, promise no storage, and permit only these scripts', () => {
  const apps = kubernetesRegistration.apps();
  expect(apps.map(({ metadata, spec }) => [metadata.name, spec.displayName, spec.support])).toEqual([
    ['rke2', 'Self-managed Kubernetes (RKE2)', 'self-managed'],
    ['k3s', 'Self-managed Kubernetes (k3s)', 'self-managed'],
    ['kubeadm', 'Self-managed Kubernetes (kubeadm)', 'self-managed'],
  ]);
  for (const { spec } of apps) {
    expect(spec.exclusions?.join()).toContain('StorageClasses');
    expect(spec.permitted?.scripts?.map(({ name }) => name)).toEqual(scripts.map(({ name }) => name));
  }
});
