import { admissionregistrationStrategies } from './admissionregistration/strategies.ts';
import { apiextensionsStrategies } from './apiextensions/strategies.ts';
import { apiregistrationStrategies } from './apiregistration/apiservice.ts';
import { certificateStrategies } from './certificates/strategies.ts';
import { coordinationStrategies } from './coordination/lease.ts';
import { coreStrategies } from './core/strategies.ts';
import { eventStrategies } from './events/event.ts';
import { flowcontrolStrategies } from './flowcontrol/strategies.ts';
import { rbacStrategies } from './rbac/roles.ts';
import type { Strategy } from './strategy.ts';
import { workloadStrategies } from './workloads.ts';

/** Kinds that accept finalizers without a domain, as in Kubernetes. */
const looseFinalizers = new Set([
  'apiregistration.k8s.io/apiservices',
  '/events',
  'events.k8s.io/events',
  'coordination.k8s.io/leases',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingwebhookconfigurations',
  'admissionregistration.k8s.io/validatingadmissionpolicies',
  'admissionregistration.k8s.io/validatingadmissionpolicybindings',
  'policy/poddisruptionbudgets',
  'node.k8s.io/runtimeclasses',
]);

/** The strategies of the built-in kinds, by `group/resource` (`/configmaps` for the core group). */
export const strategies: ReadonlyMap<string, Strategy> = new Map(
  [
    ...coreStrategies,
    ...admissionregistrationStrategies,
    ...apiextensionsStrategies,
    ...apiregistrationStrategies,
    ...certificateStrategies,
    ...coordinationStrategies,
    ...eventStrategies,
    ...flowcontrolStrategies,
    ...rbacStrategies,
    ...workloadStrategies,
  ].map(([name, strategy]): [string, Strategy] => [name, looseFinalizers.has(name) ? { ...strategy, anyFinalizer: true } : strategy]),
);
