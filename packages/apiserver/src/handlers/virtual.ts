import { type KubeObject, status, updateManaged } from '@capstan/machinery';
import type { Exchange } from '../http/exchange.ts';
import { accepted, type Negotiated, negotiate, requireOffered } from '../http/negotiate.ts';
import type { RequestContext } from '../registry/context.ts';
import type { Backend } from '../registry/objects.ts';
import type { Resource } from '../registry/resource.ts';
import { send } from './read.ts';
import type { Serving } from './serving.ts';
import { checkNamespace, readObject, writeSettings } from './write.ts';

/** Handles a created object of a kind that is never stored, such as a review: returns it with its status. */
export type VirtualKind = (object: KubeObject, context: RequestContext, dryRun: boolean) => KubeObject | Promise<KubeObject>;

/** Returns the objects of a kind that are computed when they are read: the one that the request names, or the list. */
export type ComputedKind = (context: RequestContext) => Promise<KubeObject>;

/** An object that is computed when it is read. */
export type VirtualObject = (context: RequestContext, backend: Backend) => Promise<KubeObject>;

/** Serves an object under a name that no stored object can have. */
export async function handleVirtualObject(
  serving: Serving,
  exchange: Exchange,
  context: RequestContext,
  object: VirtualObject,
): Promise<void> {
  const wanted = withoutTable(exchange.headers.accept);
  send(exchange, context, { code: 200, body: `${JSON.stringify(await object(context, serving))}\n`, wanted });
}

/** Nobody manages the fields that the server fills in. */
const answers = [['status']];

export async function handleVirtual(serving: Serving, exchange: Exchange, context: RequestContext, resource: Resource): Promise<void> {
  const computed = serving.computedKinds.get(`${resource.group}/${resource.resource}`);
  if (computed !== undefined) return handleComputed(exchange, context, { resource, computed });
  if (context.info.name !== '') throw status.noSuchResource();
  if (context.info.verb !== 'create') throw status.methodNotAllowed();
  const kind = serving.virtualKinds.get(`${resource.group}/${resource.resource}`);
  if (kind === undefined) throw status.methodNotAllowed();
  requireOffered(exchange.headers.accept);
  const wanted = withoutTable(exchange.headers.accept);
  const settings = writeSettings(context, 'CreateOptions');
  const object = await readObject(serving, exchange, { context, expected: resource, validation: settings.validation });
  checkNamespace(context, resource, object);
  updateManaged({
    live: undefined,
    updated: object,
    type: resource.type,
    manager: settings.manager,
    apiVersion: resource.groupVersion,
    subresource: '',
    now: context.now(),
    resetFields: answers,
  });
  const { namespace } = context.info;
  const asked = { operation: 'CREATE', resource, subresource: '', namespace, name: '', object, old: undefined, context } as const;
  await serving.admission.mutate({ ...asked, dryRun: settings.dryRun });
  await serving.admission.validate({ ...asked, dryRun: settings.dryRun });
  const answer = await kind(object, context, settings.dryRun);
  const { shape, shapeVersion } = wanted;
  const sent = shape === 'object' ? answer : { kind: shape, apiVersion: `meta.k8s.io/${shapeVersion}`, metadata: answer.metadata };
  send(exchange, context, { code: 201, body: `${JSON.stringify(sent)}\n`, wanted });
}

async function handleComputed(
  exchange: Exchange,
  context: RequestContext,
  { resource, computed }: { readonly resource: Resource; readonly computed: ComputedKind },
): Promise<void> {
  if (!resource.verbs.has(context.info.verb)) throw status.methodNotAllowed();
  const wanted = withoutTable(exchange.headers.accept, false);
  send(exchange, context, { code: 200, body: `${JSON.stringify(await computed(context))}\n`, wanted });
}

/** Reviews have no columns and cannot be listed: a client that asks for a table or a list gets its next choice, if any. */
function withoutTable(accept: string | undefined, withProtobuf = true): Negotiated {
  const wanted = negotiate(accept, withProtobuf);
  if (wanted.shape === 'object' || wanted.shape === 'PartialObjectMetadata') return wanted;
  const others = accept!.split(',').filter((clause) => !/;\s*as=(?:Table|PartialObjectMetadataList)\b/.test(clause));
  if (others.length === 0) throw status.notAcceptable(accepted);
  return negotiate(others.join(','), withProtobuf);
}
