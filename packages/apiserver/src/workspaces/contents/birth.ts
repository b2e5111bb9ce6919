import {
  bindingsInitializer,
  contentFinalizer,
  ownerAnnotation,
  pathAnnotation,
  rootCluster,
  terminatorsFinalizer,
  trimmedOwner,
  typeAnnotation,
  universalInitializer,
} from '@capstan/api';
import { waitingLabels } from '@capstan/api/hashes';
import type { Fields } from '@capstan/machinery';
import { fieldsOf, formatTime, type KubeObject, textsOf } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Backend } from '../../registry/objects.ts';
import { logicalClusterOf, logicalClusters } from '../tree.ts';
import {
  defaultBindingsOf,
  initializersOf,
  TypeProblem,
  terminatorsOf,
  type WorkspaceType,
  type WorkspaceTypes,
} from '../types/workspace-types.ts';
import type { DefaultBindings } from './default-bindings.ts';
import { firstObjects } from './first-objects.ts';
import { kindOf, writeMissing } from './writing.ts';

export interface BirthOptions {
  readonly backend: Pick<Backend, 'store'>;
  /** The kinds that every workspace has. */
  readonly kinds: () => Catalog;
  readonly types: WorkspaceTypes;
  readonly bindings: DefaultBindings;
  /** PEM of the authority that clients verify the server with. */
  readonly authority: () => string;
  /** Where clients reach the server. */
  readonly url: () => string;
}

/**
 * A workspace begins as a whole: whoever creates its LogicalCluster creates with it what every workspace has, and what its type binds. The LogicalCluster itself is
 * written last, so that a workspace that exists is never half there; whoever resumes after a crash creates it again.
 */
export function workspaceBirth(options: BirthOptions): AdmissionPlugin {
  return {
    name: 'WorkspaceBirth',
    mutate(request) {
      if (isBirth(request)) complete(request, options.types);
    },
    validate(request) {
      if (isBirth(request)) return begin(request, options);
    },
  };
}

function isBirth({ operation, resource, subresource, context }: AdmissionRequest): boolean {
  return (
    operation === 'CREATE' &&
    resource.resource === logicalClusters.resource &&
    resource.group === logicalClusters.group &&
    subresource === '' &&
    context.cluster !== rootCluster
  );
}

/** Says who will have to do something, and keeps the object until the workspace is empty. */
function complete(request: AdmissionRequest, types: WorkspaceTypes): void {
  const object = request.object!;
  const all = typesOf(request, types);
  const spec = { ...fieldsOf(object['spec']) };
  const initializers = initializersOf(all);
  const terminators = terminatorsOf(all);
  if (spec['initializers'] === undefined && initializers.length > 0) spec['initializers'] = initializers;
  if (spec['terminators'] === undefined && terminators.length > 0) spec['terminators'] = terminators;
  object['spec'] = spec;
  const finalizers = new Set([...(object.metadata.finalizers ?? []), contentFinalizer]);
  if (textsOf(spec['terminators']).length > 0) finalizers.add(terminatorsFinalizer);
  object.metadata.finalizers = [...finalizers];
}

function typesOf(request: AdmissionRequest, types: WorkspaceTypes): WorkspaceType[] {
  const text = request.object!.metadata.annotations?.[typeAnnotation];
  if (text === undefined) return [];
  const colon = text.lastIndexOf(':');
  try {
    return types.withInherited(types.resolve({ path: text.slice(0, colon), name: text.slice(colon + 1) }, rootCluster));
  } catch (error) {
    throw error instanceof TypeProblem ? forbidden(request, error.message) : error;
  }
}

async function begin(request: AdmissionRequest, options: BirthOptions): Promise<void> {
  const object = request.object!;
  const { cluster, now, objects } = request.context;
  // It will be refused, since it is there.
  if (logicalClusterOf(objects, cluster) !== undefined) return;
  const isTyped = object.metadata.annotations?.[typeAnnotation] !== undefined;
  const place = { cluster, path: object.metadata.annotations?.[pathAnnotation] ?? cluster, now: now() };
  const state = options.bindings.state(isTyped ? defaultBindingsOf(typesOf(request, options.types)) : [], place);
  const done = new Set([universalInitializer]);
  if (state.missing.length === 0 && state.incomplete.length === 0) done.add(bindingsInitializer);
  const waiting = textsOf(fieldsOf(object['spec'])['initializers']).filter((name) => !done.has(name));
  object['status'] = statusOf(object, waiting, { url: `${options.url()}/clusters/${cluster}`, now: place.now });
  object.metadata.labels = {
    ...object.metadata.labels,
    ...waitingLabels({
      phase: waiting.length === 0 ? 'Ready' : 'Initializing',
      initializers: waiting,
      terminators: textsOf(fieldsOf(object['spec'])['terminators']),
    }),
  };
  const owner = waiting.length === 0 ? trimmedOwner(object.metadata.annotations?.[ownerAnnotation]) : undefined;
  if (owner !== undefined) object.metadata.annotations = { ...object.metadata.annotations, [ownerAnnotation]: owner };
  if (request.dryRun || !isTyped) return;
  const catalog = options.kinds();
  const first = firstObjects(object, { authority: options.authority(), now: place.now });
  await writeMissing(
    options.backend,
    cluster,
    [...first, ...state.wanted].map((one) => ({ resource: kindOf(catalog, one), object: one })),
  );
}

function statusOf(object: KubeObject, waiting: readonly string[], { url, now }: { url: string; now: Date }): Fields {
  const terminators = textsOf(fieldsOf(object['spec'])['terminators']);
  const lastTransitionTime = formatTime(now);
  const initialized =
    waiting.length === 0
      ? { type: 'WorkspaceInitialized', status: 'True', lastTransitionTime }
      : {
          type: 'WorkspaceInitialized',
          status: 'False',
          severity: 'Info',
          reason: 'InitializerExists',
          message: `Initializers still exist: [${waiting.join(' ')}]`,
          lastTransitionTime,
        };
  return {
    URL: url,
    phase: waiting.length === 0 ? 'Ready' : 'Initializing',
    ...(waiting.length > 0 && { initializers: waiting }),
    ...(terminators.length > 0 && { terminators }),
    conditions: [initialized],
  };
}
