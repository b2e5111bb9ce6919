import { createHash } from 'node:crypto';
import type { ExportReference } from './maintained.ts';

/** Names are at most 253 characters long; the hash and its dash take six of them. */
const longestExportName = 253 - 6;

/** The name of a type's binding. The API server gives the same name to the bindings of new workspaces, so that both create only one. */
export function bindingName(cluster: string, { path, name }: ExportReference): string {
  const digest = createHash('sha224').update(`${cluster}|${path}|${name}`).digest('hex');
  return `${name.slice(0, longestExportName)}-${BigInt(`0x${digest}`).toString(36).slice(0, 5)}`;
}
