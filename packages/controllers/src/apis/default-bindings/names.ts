import { createHash } from 'node:crypto';
import type { ExportReference } from './maintained.ts';

/** Names are at most as long as a DNS name may be; the hash and its dash need six characters. */
const longestExportName = 253 - 6;

/** What the binding of a type is called, as the API server calls those that workspaces begin with: two who make it make one. */
export function bindingName(cluster: string, { path, name }: ExportReference): string {
  const digest = createHash('sha224').update(`${cluster}|${path}|${name}`).digest('hex');
  return `${name.slice(0, longestExportName)}-${BigInt(`0x${digest}`).toString(36).slice(0, 5)}`;
}
