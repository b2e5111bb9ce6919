import { appsStrategies } from './apps/apps.ts';
import { autoscalingStrategies } from './autoscaling/autoscaling.ts';
import { batchStrategies } from './batch/batch.ts';
import { discoveryStrategies } from './discovery/discovery.ts';
import { networkingStrategies } from './networking/networking.ts';
import { nodeStrategies } from './nodes/node.ts';
import { podStrategies } from './pods/pod.ts';
import { policyStrategies } from './policy/policy.ts';
import { deviceStrategies } from './resource/devices.ts';
import { serviceStrategies } from './services/service.ts';
import { storageStrategies } from './storage/storage.ts';
import type { Strategy } from './strategy.ts';
import { volumeStrategies } from './volumes/volume.ts';

/** Kinds that clients expect in every cluster: workloads and what they need. They are only stored here; other components run them. */
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
