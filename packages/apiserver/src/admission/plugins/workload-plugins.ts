import type { AdmissionPlugin } from '../../registry/admission.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { defaultTolerations } from './default-tolerations.ts';
import { limitRanger } from './limit-ranger.ts';
import { taintNodesByCondition } from './node-taints.ts';
import { podSecurity } from './pod-security/plugin.ts';
import { priority } from './priority.ts';
import { runtimeClass } from './runtime-class.ts';
import { serviceAccounts } from './service-account.ts';
import { storageObjectInUseProtection } from './storage-protection.ts';
import { persistentVolumeClaimResize } from './volume-resize.ts';

/** The plugins for workloads, in Kubernetes' order. */
export const workloadPlugins: readonly AdmissionPlugin[] = [
  limitRanger,
  serviceAccounts,
  taintNodesByCondition,
  podSecurity,
  priority,
  defaultTolerations,
  defaultStorageClass,
  storageObjectInUseProtection,
  persistentVolumeClaimResize,
  runtimeClass,
  defaultIngressClass,
];

/** The names of the plugins that can be disabled, as spelled in Kubernetes. */
export const optionalPlugins: ReadonlySet<string> = new Set(['NodeRestriction', ...workloadPlugins.map(({ name }) => name)]);
