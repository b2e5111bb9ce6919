import { appsGroup, healthReport, phaseReport } from '@capstan/api';
import { compileSchema, copyJson, FieldPath, fieldError, fieldsOf, isObject, type JsonObject, status } from '@capstan/machinery';

export type ReportType = 'phase' | 'health';

const kinds = {
  phase: { name: 'PhaseReport', schema: phaseReport },
  health: { name: 'HealthReport', schema: healthReport },
} as const satisfies Record<ReportType, { readonly name: string; readonly schema: { readonly json: JsonObject } }>;

/** In bytes of JSON. */
const largestDetail = 4_096;

/** The report in a body. Throws a status error that names every field that is wrong. */
export function parseReport(type: ReportType, text: string): JsonObject {
  const { name, schema } = kinds[type];
  const report = parse(text);
  const compiled = compileSchema(schema.json);
  const unknown = compiled.prune(copyJson(report) as JsonObject).map((field) => fieldError.forbidden(FieldPath.of(field), 'is unknown'));
  const errors = [...unknown, ...compiled.validate(report)];
  if (errors.length === 0) errors.push(...excess(report));
  if (errors.length > 0) throw status.invalidObject({ group: appsGroup, kind: name }, '', errors);
  return report;
}

function excess({ progress, detail }: JsonObject) {
  const { completed = 0, total = 0 } = fieldsOf(progress) as { readonly completed?: number; readonly total?: number };
  if (completed > total) return [fieldError.invalid(FieldPath.of('progress', 'completed'), completed, 'must not be larger than total')];
  const size = detail === undefined ? 0 : Buffer.byteLength(JSON.stringify(detail));
  return size > largestDetail ? [fieldError.tooLong(FieldPath.of('detail'), largestDetail)] : [];
}

function parse(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // The same answer as for other values that are no objects.
  }
  throw status.badRequest('expected a JSON object');
}
