import { flowschemas } from './flowcontrol/flowschema.ts';
import { prioritylevelconfigurations } from './flowcontrol/prioritylevel.ts';
import type { Strategy } from './strategy.ts';

export const flowcontrolStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['flowcontrol.apiserver.k8s.io/flowschemas', flowschemas],
  ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations', prioritylevelconfigurations],
]);
