import { apisGroup, type ClusterId } from '@capstan/api';
import { fieldsOf, status, textOf } from '@capstan/machinery';
import { definitionResource } from '../../crds/definitions.ts';
import { type AdmissionPlugin, isOf } from '../../registry/admission.ts';
import { kcpDefinitions } from '../kinds/definitions.ts';

/** The kinds of Kubernetes and the platform. */
export interface ServedKinds {
  readonly isBuiltin: (group: string, resource: string) => boolean;
  /** Whether a workspace serves a kind of Kubernetes. */
  readonly isServed: (cluster: ClusterId, group: string, resource: string) => boolean;
}

/** Whether the platform uses the annotation to describe definitions. */
function isMark(annotation: string): boolean {
  const [owner = ''] = annotation.split('/');
  return owner === apisGroup || owner.endsWith(`.${apisGroup}`);
}

const platformKinds = new Set(kcpDefinitions().map(({ metadata }) => metadata.name));

/**
 * Rejects definitions of the platform's kinds, in any version: their objects would be stored among the platform's and be trusted. A
 * definition of a bound kind is accepted but not served, since its names are taken.
 */
export function definitionAdmission({ isBuiltin, isServed }: ServedKinds): AdmissionPlugin {
  return {
    name: 'ReservedDefinition',
    validate(request) {
      const { operation, resource, name, object, context } = request;
      if (operation !== 'CREATE' || !isOf(request, definitionResource) || object === undefined) return;
      const spec = fieldsOf(object['spec']);
      const group = textOf(spec['group']);
      const plural = textOf(fieldsOf(spec['names'])['plural']);
      const marks = Object.keys(object.metadata.annotations ?? {}).filter(isMark);
      if (marks.length > 0)
        throw status.forbidden(resource, name, status.aggregate(marks.map((mark) => `${mark} is a reserved annotation`)));
      if (group.endsWith(apisGroup)) throw status.forbidden(resource, name, `${group} is a reserved group`);
      if ((isBuiltin(group, plural) && isServed(context.cluster, group, plural)) || platformKinds.has(`${plural}.${group}`))
        throw status.forbidden(resource, name, `${plural}.${group} is defined by the platform`);
    },
  };
}
