import type { Column, TablePrinter } from '@capstan/kinds';
import { age, asJson, compileJsonPath, type Json, type JsonPath, JsonPathError, printJsonPathValue } from '@capstan/machinery';
import type { PrinterColumn } from './summary.ts';

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  format: '',
  description: 'When the object was created.',
  priority: 0,
  jsonPath: '.metadata.creationTimestamp',
};

type Cell = string | number | boolean | null;

/** The limits for the cells of one row: values visited, and characters. Cells beyond them stay empty. */
const mostVisits = 20_000;
const mostCharacters = 1 << 20;

/** The columns of a definition, after the name; just the age if it has none. */
export function customPrinter(columns: readonly PrinterColumn[]): TablePrinter {
  const shown = columns.length === 0 ? [ageColumn] : columns;
  const readers = shown.map(({ type, jsonPath }) => ({ type, path: maybePath(jsonPath) }));
  return {
    columns: [{ name: 'Name', type: 'string', format: 'name', description: 'Name of the object.' }, ...shown.map(header)],
    cells(object, now) {
      const effort = { left: mostVisits };
      let characters = 0;
      const cells = readers.map(({ type, path }): Cell => {
        const value = characters > mostCharacters ? undefined : path?.first(asJson(object), effort);
        const cell = value === undefined ? null : cellOf(value, type, now);
        if (typeof cell === 'string') characters += cell.length;
        return cell;
      });
      return [object.metadata.name ?? '', ...cells];
    },
  };
}

function header({ name, type, format, description, priority, jsonPath }: PrinterColumn): Column {
  return {
    name,
    type: type as Column['type'],
    format,
    priority,
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
  };
}

/** An invalid path prints nothing: the definition was accepted when the path was still valid. */
function maybePath(text: string): JsonPath | undefined {
  try {
    return compileJsonPath(text);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function cellOf(value: Json, type: string, now: Date): Cell {
  switch (type) {
    case 'string':
      return printJsonPathValue(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null;
    default:
      return null;
  }
}

function ageOf(text: string, now: Date): string {
  return Number.isNaN(Date.parse(text)) ? '<invalid>' : age(text, now);
}
