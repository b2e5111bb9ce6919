import {
  bindingsInitializer,
  contentFinalizer,
  holds,
  initializedCondition,
  type LogicalCluster,
  ownerAnnotation,
  pathAnnotation,
  rootCluster,
  terminatorsFinalizer,
  trimmedOwner,
  typeAnnotation,
  universalInitializer,
  withConditions,
} from '@capstan/api';
import { waitingLabels } from '@capstan/api/hashes';
import { fieldsOf, textsOf } from '@capstan/machinery';
import { forbidden } from '../../admission/forbidden.ts';
import type { AdmissionRequest } from '../../registry/admission.ts';
import type { Catalog } from '../../registry/catalog.ts';
import type { Backend, ObjectCreation } from '../../registry/objects.ts';
import { logicalClusterOf, logicalClusters } from '../tree.ts';
import {
  defaultBindingsOf,
  initializersOf,
  maintainsBindings,
  TypeProblem,
  terminatorsOf,
  type WorkspaceType,
  type WorkspaceTypes,
} from '../types/workspace-types.ts';
import type { DefaultBindings } from './default-bindings.ts';
import { firstObjects } from './first-objects.ts';
import { writeMissing } from './writing.ts';

export interface CreationOptions {
  readonly store: Backend['store'];
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
 * Creates a workspace as a whole: its first objects and default bindings are written before its LogicalCluster, so that a workspace that exists is never
 * incomplete. A client that retries after a crash finds what was written and creates the rest.
 */
export function workspaceCreation(options: CreationOptions): ObjectCreation {
  return {
    group: logicalClusters.group,
    complete: (request) => {
      if (request.context.cluster !== rootCluster) complete(request, options.types);
    },
    accompany: (request) => (request.context.cluster === rootCluster ? undefined : initialize(request, options)),
  };
}

/** Adds the initializers and terminators of the type, and the finalizers that keep the object until the workspace is empty. */
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

/** Sets the status, and writes the first objects of the workspace. */
async function initialize(request: AdmissionRequest, options: CreationOptions): Promise<void> {
  const object = request.object!;
  const { cluster, now, objects } = request.context;
  // The create will fail, as the workspace exists.
  if (logicalClusterOf(objects, cluster) !== undefined) return;
  const isTyped = object.metadata.annotations?.[typeAnnotation] !== undefined;
  const place = { cluster, path: object.metadata.annotations?.[pathAnnotation] ?? cluster, now: now(), isNew: true };
  const types = isTyped ? typesOf(request, options.types) : [];
  const state = options.bindings.state(defaultBindingsOf(types), place);
  const done = new Set([universalInitializer]);
  if (state.missing.length === 0 && state.incomplete.length === 0) done.add(bindingsInitializer);
  // As the controller of default bindings would report it.
  const reconciled = done.has(bindingsInitializer) && maintainsBindings(types) ? [holds('APIBindingsReconciled')] : [];
  const { spec } = object as LogicalCluster;
  const initializers = (spec?.initializers ?? []).filter((name) => !done.has(name));
  const phase = initializers.length === 0 ? 'Ready' : 'Initializing';
  const terminators = spec?.terminators ?? [];
  object['status'] = {
    URL: `${options.url()}/clusters/${cluster}`,
    phase,
    ...(initializers.length > 0 && { initializers }),
    ...(terminators.length > 0 && { terminators }),
    conditions: withConditions([], [initializedCondition(phase, initializers), ...reconciled], place.now),
  };
  object.metadata.labels = { ...object.metadata.labels, ...waitingLabels({ phase, initializers, terminators }) };
  const owner = phase === 'Ready' ? trimmedOwner(object.metadata.annotations?.[ownerAnnotation]) : undefined;
  if (owner !== undefined) object.metadata.annotations = { ...object.metadata.annotations, [ownerAnnotation]: owner };
  if (request.dryRun || !isTyped) return;
  const catalog = options.kinds();
  const first = firstObjects(object, { authority: options.authority(), now: place.now });
  await writeMissing(
    options,
    cluster,
    [...first, ...state.wanted].map((one) => ({ resource: catalog.ofObject(one), object: one })),
  );
}
