import type { Registration } from '../registration.ts';
import { GarbageCollector } from './controller.ts';

/** Deletes objects whose owners are gone. It watches no kind: the journal has all of them. */
export const registration: Registration = {
  name: 'garbage-collector',
  account: 'generic-garbage-collector',
  workspaces: 'all',
  watches: [],
  make: (settings) => new GarbageCollector(settings),
};
