import { type KubeObject, queryBoolean } from '@capstan/machinery';
import type { Admission } from '../registry/admission.ts';
import type { RequestContext } from '../registry/context.ts';
import type { Resource } from '../registry/resource.ts';
import type { Query } from '../request/info.ts';

/** The options of a stream as an object, which webhooks and policies see. */
const options: Readonly<Record<string, (query: Query, rest: string) => object>> = {
  exec: (query) => ({ ...commandOptions(query), command: query.getAll('command') }),
  attach: (query) => commandOptions(query),
  portforward: (query) => ({ ports: query.getAll('ports').map(Number) }),
  proxy: (_query, rest) => ({ path: rest }),
};

function commandOptions(query: Query): object {
  const flags = ['stdin', 'stdout', 'stderr', 'tty'].filter((name) => queryBoolean(query.get(name))).map((name) => [name, true]);
  return { ...Object.fromEntries(flags), ...(query.get('container') && { container: query.get('container') }) };
}

/** Asks the admission plugins whether a stream may begin. Logs are reads, which no plugin decides about. */
export async function admitConnection(admission: Admission, context: RequestContext, resource: Resource): Promise<void> {
  const { subresource, namespace, name, query, rest } = context.info;
  const sub = resource.subresources.get(subresource);
  const read = options[subresource];
  if (sub === undefined || read === undefined || resource.group !== '') return;
  const object = { apiVersion: sub.groupVersion, kind: sub.kind, metadata: {}, ...read(query, rest) } as KubeObject;
  const asked = {
    operation: 'CONNECT',
    resource,
    subresource,
    namespace,
    name,
    object,
    old: undefined,
    context,
    dryRun: false,
    shape: sub,
  } as const;
  await admission.mutate(asked);
  await admission.validate(asked);
}
