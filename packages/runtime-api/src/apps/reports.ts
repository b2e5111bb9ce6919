import { appReportsPath, type ReportReceipt, rootCluster } from '@capstan/api';
import { checkName, namespaceIn } from '../http/parameters.ts';
import { Problem } from '../problems/problem.ts';
import type { Call, Reply } from '../routes/call.ts';

/** `POST …/{id}/report-phase`. */
export const reportPhase = (call: Call): Promise<Reply> => report(call, '');

/** `POST …/{id}/members/{member}/report-health`. */
export async function reportHealth(call: Call): Promise<Reply> {
  const member = call.parameters['member']!;
  checkName(member);
  return report(call, `/members/${member}`);
}

/** The API server knows who may report on what, and checks the report. */
async function report(call: Call, rest: string): Promise<Reply> {
  const { workspace, query, parameters, upstream, authorization } = call;
  const unknown = [...query.keys()].find((name) => name !== 'namespace');
  if (unknown !== undefined)
    throw new Problem('invalid_parameter', `${unknown}: is unknown. A token belongs into the header Authorization, never into a query.`);
  if (workspace === undefined)
    throw new Problem('workspace_not_found', 'Name the workspace of the instance: /clusters/<workspace>/api/v1/….');
  // Without it, requests of service accounts go to their own workspace.
  const path = `/clusters/${rootCluster}${appReportsPath}${workspace}/${namespaceIn(query)}/${parameters['id']!}${rest}`;
  const body = JSON.stringify(await call.body());
  return { status: 200, body: await upstream.json<ReportReceipt>({ method: 'POST', path, authorization, body }) };
}
