import { status } from '@capstan/machinery';
import type { AdmissionPlugin } from '../../admission/admission.ts';
import { definitionResource } from '../../crds/definitions.ts';
import { fieldsOf, textOf } from '../../kinds/workloads/reading.ts';
import { apisGroup } from './names.ts';
import { isOf } from './refusal.ts';

/** By which the platform says something about definitions. */
function isMark(annotation: string): boolean {
  const [owner = ''] = annotation.split('/');
  return owner === apisGroup || owner.endsWith(`.${apisGroup}`);
}

/** A workspace does not define what belongs to the platform. What it has bound it may define in vain: the names are taken, so it is not served. */
export const definitionAdmission: AdmissionPlugin = {
  name: 'ReservedDefinition',
  validate(request) {
    const { operation, resource, name, object } = request;
    if (operation !== 'CREATE' || !isOf(request, definitionResource) || object === undefined) return;
    const spec = fieldsOf(object['spec']);
    const group = textOf(spec['group']);
    const marks = Object.keys(object.metadata.annotations ?? {}).filter(isMark);
    if (marks.length > 0) throw status.forbidden(resource, name, status.aggregate(marks.map((mark) => `${mark} is a reserved annotation`)));
    if (group.endsWith(apisGroup)) throw status.forbidden(resource, name, `${group} is a reserved group`);
  },
};
