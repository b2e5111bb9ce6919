import { type AuditEvent, type AuditEventList, auditPath } from '@capstan/api';
import type { Tone } from '../../components/status.tsx';
import { kubeClient } from '../kube/client.ts';

export interface AuditFilter {
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly name: string;
  readonly code: string;
  /** Times as a field of the form gives them, such as `2026-11-16T09:30`, in the time zone of the reader. */
  readonly since: string;
  readonly until: string;
}

export const noFilter: AuditFilter = { user: '', verb: '', resource: '', name: '', code: '', since: '', until: '' };

const times: ReadonlySet<string> = new Set<keyof AuditFilter>(['since', 'until']);

/** The query of a page of events. Empty fields are left out. */
export function auditQuery(filter: AuditFilter, page: string): string {
  const query = new URLSearchParams({ limit: '100', ...(page !== '' && { continue: page }) });
  for (const [name, value] of Object.entries(filter))
    if (value.trim() !== '') query.set(name, times.has(name) ? new Date(value).toISOString() : value.trim());
  return `${auditPath}?${query}`;
}

export function readAudit(workspace: string, filter: AuditFilter, page: string): Promise<AuditEventList> {
  return kubeClient(workspace).json<AuditEventList>({ method: 'GET', path: auditQuery(filter, page) });
}

/** The servers whose events are missing in some of these pages. */
export const missingServers = (pages: readonly Pick<AuditEventList, 'missingServers'>[]): readonly string[] => [
  ...new Set(pages.flatMap((page) => page.missingServers ?? [])),
];

/** `joe (by jane)` if jane acted as joe. */
export function whoDid({ user, impersonatedUser }: AuditEvent): string {
  return impersonatedUser === undefined ? (user.username ?? '') : `${impersonatedUser.username ?? ''} (by ${user.username ?? ''})`;
}

/** `gpuunits/train`, with the subresource and the namespace. */
export function onWhat({ objectRef, requestURI }: AuditEvent): string {
  if (objectRef?.resource === undefined) return requestURI;
  const { resource, subresource, namespace, name } = objectRef;
  return `${resource}${subresource === undefined ? '' : `/${subresource}`} ${[namespace, name].filter(Boolean).join('/')}`.trim();
}

export function toneOf(code: number | undefined): Tone {
  if (code === undefined) return 'idle';
  if (code < 400) return 'good';
  return code < 500 ? 'warn' : 'bad';
}
