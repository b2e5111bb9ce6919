import { coordinationStrategies } from './coordination.ts';
import { coreStrategies } from './core.ts';
import { eventStrategies } from './events.ts';
import { rbacStrategies } from './rbac.ts';
import type { Strategy } from './strategy.ts';

/** How the built-in kinds behave, by `group/resource` (`/configmaps` for the core group). */
export const strategies: ReadonlyMap<string, Strategy> = new Map([
  ...coreStrategies,
  ...coordinationStrategies,
  ...eventStrategies,
  ...rbacStrategies,
]);
