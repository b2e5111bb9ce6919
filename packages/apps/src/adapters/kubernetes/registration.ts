import type { AdapterRegistration } from '../../adapter/registration.ts';
import { scriptsOf } from '../../adapter/scripts.ts';
import { kubernetes } from './adapter.ts';
import { appOf } from './catalog.ts';
import { distributions } from './distribution.ts';

export const kubernetesRegistration: AdapterRegistration = {
  adapter: kubernetes,
  apps: () => distributions.map((distribution) => appOf(distribution, scriptsOf(kubernetes.name))),
  scripts: () => scriptsOf(kubernetes.name),
};
