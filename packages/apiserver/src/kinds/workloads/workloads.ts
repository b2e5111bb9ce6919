import type { Strategy } from '../strategy.ts';
import { appsStrategies } from './apps.ts';
import { autoscalingStrategies } from './autoscaling.ts';
import { batchStrategies } from './batch.ts';
import { deviceStrategies } from './devices.ts';
import { discoveryStrategies } from './discovery.ts';
import { networkingStrategies } from './networking.ts';
import { nodeStrategies } from './node.ts';
import { podStrategies } from './pod.ts';
import { policyStrategies } from './policy.ts';
import { serviceStrategies } from './service.ts';
import { storageStrategies } from './storage.ts';
import { volumeStrategies } from './volume.ts';

/** Kinds that clients expect of every cluster: what runs, and what it needs. Kept as data; whoever runs them is attached from outside. */
export const workloadStrategies: ReadonlyMap<string, Strategy> = new Map([
  ...podStrategies,
  ...appsStrategies,
  ...batchStrategies,
  ...serviceStrategies,
  ...nodeStrategies,
  ...volumeStrategies,
  ...discoveryStrategies,
  ...autoscalingStrategies,
  ...networkingStrategies,
  ...policyStrategies,
  ...storageStrategies,
  ...deviceStrategies,
]);
