import { unitLabel } from '@capstan/api';
import type { AdmissionPlugin, AdmissionRequest } from '../../registry/admission.ts';

/** The plugin without pods that show units: nothing schedules or runs them, and nobody but the platform writes them. */
export function exceptUnitPods(plugin: AdmissionPlugin): AdmissionPlugin {
  const mutate = plugin.mutate?.bind(plugin);
  const validate = plugin.validate?.bind(plugin);
  return {
    name: plugin.name,
    ...(mutate && { mutate: (request) => (isUnitPod(request) ? undefined : mutate(request)) }),
    ...(validate && { validate: (request) => (isUnitPod(request) ? undefined : validate(request)) }),
  };
}

function isUnitPod({ resource, object }: AdmissionRequest): boolean {
  return resource.resource === 'pods' && resource.group === '' && object?.metadata.labels?.[unitLabel] !== undefined;
}
