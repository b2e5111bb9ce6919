import type { Strategy } from '../strategy.ts';
import { flowschemas } from './flowschema.ts';
import { prioritylevelconfigurations } from './prioritylevel.ts';

export const flowcontrolStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['flowcontrol.apiserver.k8s.io/flowschemas', flowschemas],
  ['flowcontrol.apiserver.k8s.io/prioritylevelconfigurations', prioritylevelconfigurations],
]);
