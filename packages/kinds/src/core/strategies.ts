import type { Strategy } from '../strategy.ts';
import { configmaps } from './configmap.ts';
import { limitranges } from './limitrange.ts';
import { namespaces } from './namespace.ts';
import { resourcequotas } from './resourcequota.ts';
import { secrets } from './secret.ts';
import { serviceaccounts } from './serviceaccount.ts';

export { lastingNamespaces } from './namespace.ts';

export const coreStrategies: ReadonlyMap<string, Strategy> = new Map([
  ['/configmaps', configmaps],
  ['/limitranges', limitranges],
  ['/namespaces', namespaces],
  ['/resourcequotas', resourcequotas],
  ['/secrets', secrets],
  ['/serviceaccounts', serviceaccounts],
]);
