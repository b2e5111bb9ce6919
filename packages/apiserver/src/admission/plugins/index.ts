import type { AdmissionPlugin } from '../admission.ts';
import { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
import { limitRanger } from './limit-ranger.ts';
import { singleDefaultPriority } from './priority.ts';
import { serviceAccounts } from './service-account.ts';

/** What Kubernetes itself adds to workloads, in its order. */
export const workloadPlugins: readonly AdmissionPlugin[] = [
  limitRanger,
  serviceAccounts,
  singleDefaultPriority,
  defaultStorageClass,
  defaultIngressClass,
];
