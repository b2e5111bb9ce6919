import type { Readable } from 'node:stream';
import { type KubeObject, StatusError, status } from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import type { Query } from '../request/info.ts';
import { readStart } from './relay.ts';
import { shownNodeUnit } from './shown-unit.ts';
import type { NodeTarget, Reach } from './target.ts';
import { askNodeForStream } from './tunnel-request.ts';

const passedOn = ['follow', 'previous', 'timestamps', 'sinceSeconds', 'sinceTime', 'tailLines', 'limitBytes'];

/** Whether a client that follows a log wants to wait for its beginning, instead of being refused. Kubernetes has no such option. */
export const awaitsStart = (query: Pick<Query, 'get'>): boolean => query.get('follow') === 'true' && query.get('awaitStart') === 'true';

export interface LogRequest {
  readonly context: RequestContext;
  readonly pod: KubeObject;
  readonly container: string;
  readonly target: NodeTarget;
  /** Options as in a request for a log. */
  readonly query: Pick<Query, 'get'>;
  readonly signal: AbortSignal;
}

/** Asks a node for the log of a container. Rejects if it refuses. */
export async function openLog(
  { kubelets }: Pick<Reach, 'kubelets'>,
  { context, pod, container, target, query, signal }: LogRequest,
): Promise<Readable> {
  const { name } = context.info;
  const parameters = new URLSearchParams();
  for (const key of passedOn) {
    const value = query.get(key);
    if (value !== null) parameters.set(key, value);
  }
  const path = [pod.metadata.namespace ?? '', name, container].map(encodeURIComponent).join('/');
  if (target.kind === 'tunnel') {
    const start = awaitsStart(query) ? shownNodeUnit(pod) : undefined;
    if (start !== undefined) parameters.set('start', start);
    const where = `/logs/${encodeURIComponent(context.cluster)}/${path}?${parameters.toString()}`;
    const body = await askNodeForStream(target, context, { method: 'GET', path: where, signal });
    body.end();
    return body;
  }
  const response = await kubelets.send(target.kubelet, {
    method: 'GET',
    path: `/containerLogs/${path}?${parameters.toString()}`,
    signal,
    ...(query.get('insecureSkipTLSVerifyBackend') === 'true' && { skipCertificateCheck: true }),
  });
  const code = response.statusCode ?? 0;
  if (code < 200 || code > 206) throw refusal(code, (await readStart(response)).toString(), name);
  return response;
}

/** The error of a kubelet in Kubernetes' words. */
function refusal(code: number, text: string, name: string): StatusError {
  if (code === 500) return status.internalError(text);
  if (code === 400) return status.badRequest(text);
  const where = `( pods/log ${name})`;
  if (code === 404)
    return new StatusError({ code, reason: 'NotFound', message: `the server could not find the requested resource ${where}` });
  if (code === 401 || code === 403)
    return status.serviceUnavailable(`the kubelet refuses the server's client certificate with ${code}: ${text.trim()}`);
  return new StatusError({
    code,
    reason: 'InternalError',
    message: `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding ${where}`,
  });
}
