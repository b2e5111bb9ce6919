import type { Registration } from '../../registration.ts';
import { CountController } from './controller.ts';

/** Reports how many objects a CachedResource publishes. It also follows those objects. */
export const registration: Registration = {
  name: 'cachedresource-counts',
  account: 'api-sharing-controller',
  workspaces: 'all',
  watches: ['cachedresources.cache.kcp.io'],
  make: () => new CountController(),
};
