import { status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../../admission/admission.ts';
import type { ObjectReader } from '../../cache/reader.ts';
import { definitionResource } from '../../crds/definitions.ts';
import { fieldsOf, textOf } from '../../kinds/workloads/reading.ts';
import { apiBindings, boundResources } from '../kinds/bound-kinds.ts';
import { isOf } from './refusal.ts';

/** A workspace does not define what it has bound: nobody could tell whose objects were meant. */
export function definitionAdmission(objects: ObjectReader): AdmissionPlugin {
  return {
    name: 'BoundDefinition',
    validate(request) {
      const { operation, resource, name, object, context } = request;
      if (operation !== 'CREATE' || !isOf(request, definitionResource) || object === undefined) return;
      const spec = fieldsOf(object['spec']);
      const plural = textOf(fieldsOf(spec['names'])['plural']);
      for (const binding of objects.list(apiBindings, context.cluster)) {
        const bound = boundResources(binding['status']);
        if (!bound.some((one) => one.group === spec['group'] && one.resource === plural)) continue;
        throw status.forbidden(resource, name, `cannot create because resource is bound by APIBinding "${binding.metadata.name}"`);
      }
    },
  };
}
