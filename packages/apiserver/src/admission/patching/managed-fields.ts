import { decodeFields, type KubeObject, MalformedFields, type ManagedFieldsEntry } from '@capstan/machinery';

/**
 * A webhook with an outdated type can corrupt the managed fields. They are then restored, with a warning to the client. Managed fields that
 * a webhook removed stay removed.
 */
export function repairManagedFields(object: KubeObject, before: ManagedFieldsEntry[] | undefined, warn: (message: string) => void): void {
  const wrong = mistakeIn(object.metadata.managedFields);
  if (wrong === undefined) return;
  const advice = 'this could be caused by an outdated mutating admission controller; please fix your requests';
  warn(`.metadata.managedFields was in an invalid state after admission; ${advice}: ${wrong}`);
  if (before === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = before;
}

function mistakeIn(entries: readonly ManagedFieldsEntry[] = []): string | undefined {
  for (const { operation, fieldsType, fieldsV1 } of entries) {
    if (operation !== 'Apply' && operation !== 'Update') return 'operation must be `Apply` or `Update`';
    if (fieldsType !== 'FieldsV1') return 'fieldsType must be `FieldsV1`';
    try {
      decodeFields(fieldsV1);
    } catch (error) {
      if (error instanceof MalformedFields) return error.message;
      throw error;
    }
  }
  return undefined;
}
