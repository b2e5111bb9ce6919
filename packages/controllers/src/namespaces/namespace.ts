import type { Condition, KindType } from '@capstan/controller';
import type { KubeObject } from '@capstan/machinery';

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string; conditions?: readonly Condition[] };
}

export const namespaceType: KindType = { group: '', version: 'v1', resource: 'namespaces', namespaced: false, kind: 'Namespace' };
