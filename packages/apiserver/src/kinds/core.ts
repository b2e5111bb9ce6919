import { configmaps } from './core/configmap.ts';
import { limitranges } from './core/limitrange.ts';
import { namespaces } from './core/namespace.ts';
import { resourcequotas } from './core/resourcequota.ts';
import { secrets } from './core/secret.ts';
import { serviceaccounts } from './core/serviceaccount.ts';
import type { Strategy } from './strategy.ts';

export { lastingNamespaces } from './core/namespace.ts';

export const coreStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['/configmaps', configmaps],
  ['/limitranges', limitranges],
  ['/namespaces', namespaces],
  ['/resourcequotas', resourcequotas],
  ['/secrets', secrets],
  ['/serviceaccounts', serviceaccounts],
]);
