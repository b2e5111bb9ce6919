import { definedKinds } from '@capstan/api';
import { ownVersion, recordRelease, schemasOf } from './released.ts';

/** Keeps the schemas of the kinds as those of the last release. Throws if they break what was released before. */
export function recordSchemas(): void {
  recordRelease({ version: ownVersion(), schemas: schemasOf(definedKinds) });
}
