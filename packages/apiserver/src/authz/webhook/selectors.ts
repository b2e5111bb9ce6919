import { type FieldRequirement, type JsonObject, type LabelRequirement, parseFieldSelector, parseLabelSelector } from '@capstan/machinery';

/**
 * The selectors of a request, in the form of a SubjectAccessReview. Selectors only narrow a request, so invalid or unsupported ones are
 * omitted: the webhook is then asked about a broader request.
 */
export function selectorAttributes(selectors: { readonly field: string; readonly label: string } | undefined): JsonObject {
  if (selectors === undefined) return {};
  const fields = readable(() => parseFieldSelector(selectors.field).requirements).map(fieldRequirement);
  const labels = readable(() => parseLabelSelector(selectors.label).requirements).flatMap(labelRequirement);
  return {
    ...(fields.length > 0 && { fieldSelector: { requirements: fields } }),
    ...(labels.length > 0 && { labelSelector: { requirements: labels } }),
  };
}

function readable<Item>(read: () => readonly Item[]): readonly Item[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function fieldRequirement({ field, operator, value }: FieldRequirement): JsonObject {
  return { key: field, operator: operator === '=' ? 'In' : 'NotIn', values: [value] };
}

function labelRequirement(requirement: LabelRequirement): JsonObject[] {
  const { key } = requirement;
  switch (requirement.operator) {
    case 'exists':
      return [{ key, operator: 'Exists' }];
    case '!':
      return [{ key, operator: 'DoesNotExist' }];
    case '=':
    case '==':
      return [{ key, operator: 'In', values: [requirement.value] }];
    case '!=':
      return [{ key, operator: 'NotIn', values: [requirement.value] }];
    case 'in':
      return [{ key, operator: 'In', values: [...requirement.values] }];
    case 'notin':
      return [{ key, operator: 'NotIn', values: [...requirement.values] }];
    default:
      return [];
  }
}
