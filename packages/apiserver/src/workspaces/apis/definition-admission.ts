import { status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../../admission/admission.ts';
import type { ObjectReader } from '../../cache/reader.ts';
import { definitionResource } from '../../crds/definitions.ts';
import { fieldsOf, textOf } from '../../kinds/workloads/reading.ts';
import { apiBindings, boundResources } from '../kinds/bound-resources.ts';
import { apisGroup } from './names.ts';
import { isOf } from './refusal.ts';

/** By which the platform says something about definitions. */
function isMark(annotation: string): boolean {
  const [owner = ''] = annotation.split('/');
  return owner === apisGroup || owner.endsWith(`.${apisGroup}`);
}

/** A workspace does not define what it has bound: nobody could tell whose objects were meant. Nor what belongs to the platform. */
export function definitionAdmission(objects: ObjectReader): AdmissionPlugin {
  return {
    name: 'BoundDefinition',
    validate(request) {
      const { operation, resource, name, object, context } = request;
      if (operation !== 'CREATE' || !isOf(request, definitionResource) || object === undefined) return;
      const spec = fieldsOf(object['spec']);
      const group = textOf(spec['group']);
      const marks = Object.keys(object.metadata.annotations ?? {}).filter(isMark);
      if (marks.length > 0)
        throw status.forbidden(resource, name, status.aggregate(marks.map((mark) => `${mark} is a reserved annotation`)));
      if (group.endsWith(apisGroup)) throw status.forbidden(resource, name, `${group} is a reserved group`);
      const plural = textOf(fieldsOf(spec['names'])['plural']);
      for (const binding of objects.list(apiBindings, context.cluster)) {
        const bound = boundResources(binding['status']);
        if (!bound.some((one) => one.group === group && one.resource === plural)) continue;
        throw status.forbidden(resource, name, `cannot create because resource is bound by APIBinding "${binding.metadata.name}"`);
      }
    },
  };
}
