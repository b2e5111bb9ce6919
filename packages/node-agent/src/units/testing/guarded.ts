import { nodeUnit } from './node-units.ts';

/** In milliseconds. The contact is stored every two seconds, so a connected node must not seem cut off before. */
export const guardedTimes = { guardMargin: 1_000, guardInterval: 50, fenceInterval: 50 };

/** In milliseconds: the age of the contact at which a guard acts. */
export const guardedLimit = 5_000;

/** A program that does not end politely, with a child that nothing but its parent marks. */
export const guardedUnit = (name: string): ReturnType<typeof nodeUnit> =>
  nodeUnit(name, {
    command: ['/bin/sh', '-c', 'trap "" TERM; env -i setsid sleep 600 & env -i sleep 600 & while :; do sleep 1; done'],
    restartPolicy: 'Always',
    fenceAfter: '3s',
    stopGrace: '1s',
  });
