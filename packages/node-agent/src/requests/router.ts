import type { TunnelHandler, TunnelRequest } from '@capstan/streams';

/** A container of a unit on this node. */
export interface ContainerTarget {
  readonly cluster: string;
  readonly namespace: string;
  readonly pod: string;
}

/** The target of a request. `designs/011-connect.md` lists the paths. */
export type NodeRoute =
  | ({ readonly kind: 'logs' | 'exec' | 'attach'; readonly container: string } & ContainerTarget)
  | ({ readonly kind: 'portforward' } & ContainerTarget)
  | ({ readonly kind: 'proxy'; readonly port: string; readonly path: string } & ContainerTarget)
  | { readonly kind: 'node'; readonly path: string };

export interface RoutedRequest<R extends NodeRoute = NodeRoute> extends TunnelRequest {
  readonly route: R;
  readonly query: URLSearchParams;
  /** The person who asked. */
  readonly user: string;
}

/** Handles the requests of each kind. Kinds without a handler are answered with 501. */
export type NodeHandlers = {
  readonly [K in NodeRoute['kind']]?: (request: RoutedRequest<Extract<NodeRoute, { kind: K }>>) => void | Promise<void>;
};

const methods: Partial<Record<NodeRoute['kind'], string>> = { logs: 'GET', exec: 'POST', attach: 'POST', portforward: 'POST' };

/** Parses a path; undefined if it is none of those in the design. */
export function parseRoute(path: string): NodeRoute | undefined {
  const [first, ...parts] = path.slice(1).split('/');
  if (first === 'node') return { kind: 'node', path: `/${parts.join('/')}` };
  const [cluster, namespace, pod, ...rest] = parts.slice(0, 4).map(decoded);
  if (cluster === undefined || namespace === undefined || pod === undefined || [cluster, namespace, pod].includes('')) return undefined;
  const target = { cluster, namespace, pod };
  const [last] = rest;
  switch (first) {
    case 'logs':
    case 'exec':
    case 'attach':
      return last === undefined || last === '' || parts.length !== 4 ? undefined : { kind: first, ...target, container: last };
    case 'portforward':
      return parts.length === 3 ? { kind: first, ...target } : undefined;
    case 'proxy':
      return last === undefined || last === '' ? undefined : { kind: first, ...target, port: last, path: `/${parts.slice(4).join('/')}` };
    default:
      return undefined;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Hands each request of a tunnel to the handler of its kind. */
export function routeRequests(handlers: NodeHandlers): TunnelHandler {
  return (request) => {
    const mark = request.path.indexOf('?');
    const route = parseRoute(mark < 0 ? request.path : request.path.slice(0, mark));
    if (route === undefined) return refuse(request, { code: 404, reason: 'NotFound', message: `this node serves no path ${request.path}` });
    const method = methods[route.kind];
    if (method !== undefined && request.method !== method)
      return refuse(request, { code: 405, reason: 'MethodNotAllowed', message: `expected the method ${method} for ${route.kind}` });
    const handler = handlers[route.kind] as ((routed: RoutedRequest) => void | Promise<void>) | undefined;
    if (handler === undefined)
      return refuse(request, { code: 501, reason: 'NotImplemented', message: `the agent of this node does not support ${route.kind} yet` });
    const query = new URLSearchParams(mark < 0 ? '' : request.path.slice(mark + 1));
    return handler({ ...request, route, query, user: decoded(request.headers['capstan-user'] ?? '') ?? '' });
  };
}

/** Answers with a Status, as every error before a stream begins. */
export function refuse(request: TunnelRequest, { code, reason, message }: { code: number; reason: string; message: string }): void {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message };
  request.respond(code, { 'content-type': 'application/json' }).end(JSON.stringify(status));
}
