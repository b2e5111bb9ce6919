import type { Registration } from '../registration.ts';
import { unscheduledPods } from './controller.ts';

/** Explains with an event why pods stay pending while no nodes exist. */
export const registration: Registration = {
  name: 'unscheduled-pods',
  account: 'unscheduled-pod-controller',
  workspaces: 'root',
  watches: ['pods', 'nodes'],
  make: unscheduledPods,
};
