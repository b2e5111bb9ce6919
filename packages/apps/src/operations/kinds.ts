import type { App, AppOperation } from '@capstan/api';
import { ownTypes, workTypes } from './types.ts';

/** Why nobody may ask for an operation of this type; undefined if somebody may. A plan without effects may be had of all of them. */
export function commonAndOwn(
  { spec }: AppOperation,
  app: App | undefined,
): { readonly code: string; readonly message: string } | undefined {
  const { type, dryRun } = spec;
  if (ownTypes.has(type)) {
    if (dryRun) return undefined;
    const instead =
      type === 'stop' || type === 'start' ? `set spec.stopped of the instance to ${type === 'stop'}` : 'change or delete the instance';
    return { code: 'BegunByPlatform', message: `the platform begins ${type} itself; ${instead}` };
  }
  if (workTypes.has(type)) return undefined;
  const own = app?.spec.operations ?? [];
  if (own.some(({ name }) => name === type)) return undefined;
  const names = ['retry', 'resume', 'cancel', 'acknowledge', 'force-delete', ...workTypes, ...own.map(({ name }) => name)];
  return { code: 'UnknownOperation', message: `the App has no operation ${type}; it has ${names.join(', ')}` };
}
