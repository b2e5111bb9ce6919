import { admissionregistrationStrategies } from './admissionregistration.ts';
import { apiextensionsStrategies } from './apiextensions.ts';
import { apiregistrationStrategies } from './apiregistration.ts';
import { certificateStrategies } from './certificates.ts';
import { coordinationStrategies } from './coordination.ts';
import { coreStrategies } from './core.ts';
import { eventStrategies } from './events.ts';
import { flowcontrolStrategies } from './flowcontrol.ts';
import { rbacStrategies } from './rbac.ts';
import type { Strategy } from './strategy.ts';
import { workloadStrategies } from './workloads/workloads.ts';

/** How the built-in kinds behave, by `group/resource` (`/configmaps` for the core group). */
export const strategies: ReadonlyMap<string, Strategy> = new Map([
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
]);
