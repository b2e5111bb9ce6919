import type { Resource } from './resource.ts';

type Paths = readonly (readonly string[])[];
const nothing: Paths = [];
const spec: Paths = [['spec']];
const statusField: Paths = [['status']];

/** Fields that nobody owns through this subresource. */
export function resetFieldsOf(resource: Resource, subresource: string): Paths {
  if (!resource.subresources.has('status')) return nothing;
  if (subresource === 'status') return resource.strategy.resetFields?.status ?? spec;
  return resource.strategy.resetFields?.main ?? statusField;
}
