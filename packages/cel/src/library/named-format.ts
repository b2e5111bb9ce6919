import { names } from '@capstan/machinery';
import { listOf, objectOf, optionalOf, STRING } from '../types/type.ts';
import { ArrayList } from '../value/collections.ts';
import { parseDate, parseDateTime } from '../value/timestamp.ts';
import { OpaqueValue, Optional, type Value } from '../value/value.ts';
import { type FunctionEntry, member, overload } from './function.ts';
import { parseRequestUri } from './uri.ts';

const FORMAT = objectOf('kubernetes.NamedFormat');

/** A named rule for strings, such as `dns1123Label`. */
export class FormatValue extends OpaqueValue {
  readonly typeName = 'kubernetes.NamedFormat';
  readonly name: string;
  /** The number of characters in the equivalent pattern, which determines the cost. */
  readonly patternSize: number;
  readonly problems: (text: string) => readonly string[];

  constructor(name: string, patternSize: number, problems: (text: string) => readonly string[]) {
    super();
    this.name = name;
    this.patternSize = patternSize;
    this.problems = problems;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && this.name === other.name;
  }
}

function problemIf(isWrong: boolean, message: string): readonly string[] {
  return isWrong ? [message] : [];
}

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;

function uriProblems(text: string): readonly string[] {
  const parts = parseRequestUri(text);
  return typeof parts === 'string' ? [parts] : [];
}

const formats = new Map<string, FormatValue>([
  ['dns1123Label', new FormatValue('DNS1123Label', 30, (text) => names.dns1123Label(text))],
  ['dns1123Subdomain', new FormatValue('DNS1123Subdomain', 60, (text) => names.dns1123Subdomain(text))],
  ['dns1035Label', new FormatValue('DNS1035Label', 30, (text) => names.dns1035Label(text))],
  ['qualifiedName', new FormatValue('QualifiedName', 60, (text) => names.qualifiedName(text))],
  ['dns1123LabelPrefix', new FormatValue('DNS1123LabelPrefix', 30, (text) => names.dns1123Label(text, true))],
  ['dns1123SubdomainPrefix', new FormatValue('DNS1123SubdomainPrefix', 60, (text) => names.dns1123Subdomain(text, true))],
  ['dns1035LabelPrefix', new FormatValue('DNS1035LabelPrefix', 30, (text) => names.dns1035Label(text, true))],
  ['labelValue', new FormatValue('LabelValue', 40, (text) => names.labelValue(text))],
  ['uri', new FormatValue('URI', 1103, uriProblems)],
  ['uuid', new FormatValue('uuid', 70, (text) => problemIf(!uuid.test(text), 'does not match the UUID format'))],
  ['byte', new FormatValue('byte', 84, (text) => problemIf(!base64.test(text), 'invalid base64'))],
  ['date', new FormatValue('date', 71, (text) => problemIf(parseDate(text) === undefined, 'invalid date'))],
  ['datetime', new FormatValue('datetime', 71, (text) => problemIf(parseDateTime(text) === undefined, 'invalid datetime'))],
]);

function find(name: string): Value {
  const format = formats.get(name);
  return format === undefined ? Optional.none : new Optional(format);
}

function validate(format: FormatValue, text: string): Value {
  const problems = format.problems(text);
  return problems.length === 0 ? Optional.none : new Optional(new ArrayList([...problems]));
}

export const namedFormat: readonly FunctionEntry[] = [
  ['validate', [member('format-validate', [FORMAT, STRING], optionalOf(listOf(STRING)), validate)]],
  ['format.named', [overload('format-named', [STRING], optionalOf(FORMAT), find)]],
  ...Array.from(formats, ([name, format]): FunctionEntry => [`format.${name}`, [overload(`format.${name}`, [], FORMAT, () => format)]]),
];
