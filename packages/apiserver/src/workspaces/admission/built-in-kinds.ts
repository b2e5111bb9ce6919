import { builtInKindsAnnotation, rootCluster } from '@capstan/api';
import { forbidden } from '../../admission/forbidden.ts';
import type { AdmissionPlugin } from '../../registry/admission.ts';
import type { Catalog } from '../../registry/catalog.ts';
import { type KindName, namesKind, parseKindNames } from '../kinds/kind-names.ts';
import { workspaceTypes } from '../types/workspace-types.ts';

/** The kinds of Kubernetes that a type names must exist, and only the platform's owner decides about them. */
export function builtInKindRules(catalog: Catalog): AdmissionPlugin {
  const isKnown = (name: KindName): boolean =>
    [...catalog.groups.values()].some((group) =>
      group.versions.some(({ resources }) => [...resources.keys()].some((resource) => namesKind([name], group.name, resource))),
    );
  return {
    name: 'BuiltInKinds',
    validate(request) {
      const { resource, operation, object, old, context } = request;
      if (resource.resource !== workspaceTypes.resource || resource.group !== workspaceTypes.group) return;
      if ((operation !== 'CREATE' && operation !== 'UPDATE') || object === undefined) return;
      const text = object.metadata.annotations?.[builtInKindsAnnotation];
      if (text === undefined || text === old?.metadata.annotations?.[builtInKindsAnnotation]) return;
      if (context.cluster !== rootCluster)
        throw forbidden(request, `only types of the root workspace may have the annotation ${builtInKindsAnnotation}; extend one of them`);
      const unknown = parseKindNames(text).find((name) => !isKnown(name));
      if (unknown === undefined) return;
      const found = unknown.group === '' ? unknown.resource : `${unknown.resource}.${unknown.group}`;
      throw forbidden(
        request,
        `${builtInKindsAnnotation}: expected kinds of Kubernetes such as pods or deployments.apps, found "${found}"`,
      );
    },
  };
}
