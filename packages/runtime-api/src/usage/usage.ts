import { type UsageReport, usageGroups, usagePath } from '@capstan/api';
import { oneOf } from '../http/parameters.ts';
import { workspaceOf } from '../resources/place.ts';
import type { Call, Reply } from '../routes/call.ts';

/** `GET /usage`: a report of the ledger, which the API server makes with the rights of the caller. */
export async function readUsage(call: Call): Promise<Reply> {
  const { upstream, authorization, query } = call;
  const parameters = new URLSearchParams({ groupBy: oneOf(query, 'group_by', usageGroups) ?? 'workspace' });
  for (const name of ['from', 'to']) if (query.has(name)) parameters.set(name, query.get(name)!);
  const path = `/clusters/${await workspaceOf(call)}${usagePath}?${parameters.toString()}`;
  return { status: 200, body: await upstream.json<UsageReport>({ method: 'GET', path, authorization }) };
}
