import type { AdmissionPlugin } from '../admission.ts';
import { forbidden } from '../forbidden.ts';

const classes = { group: 'scheduling.k8s.io', resource: 'priorityclasses' };

/** There is one default priority at most. */
export const singleDefaultPriority: AdmissionPlugin = {
  name: 'Priority',
  validate(request) {
    const { resource, operation, subresource, object, context } = request;
    if (resource.resource !== classes.resource || resource.group !== classes.group || subresource !== '') return;
    if (object?.['globalDefault'] !== true) return;
    const other = context.objects.list(classes, context.cluster).find((candidate) => candidate['globalDefault'] === true);
    if (other === undefined || (operation === 'UPDATE' && other.metadata.name === object.metadata.name)) return;
    throw forbidden(request, `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`);
  },
};
