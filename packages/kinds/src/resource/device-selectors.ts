import { compile, declare, QUANTITY } from '@capstan/cel';
import { type FieldPath, type Fields, fieldError, maybeFields, textOf } from '@capstan/machinery';
import type { Findings } from '../shared/findings.ts';

const mostSelectors = 32;
const longestExpression = 10 * 1024;
const highestCost = 1_000_000;

/** The maximum number of attributes and capacities of a device, from which expression costs are estimated. */
const mostAttributes = 32;

/** The variables of an expression: a device with its attributes and capacities, by domain and then by name. */
const variables = new Map([
  [
    'device',
    declare.object('kubernetes.DRADevice', {
      driver: declare.string,
      attributes: declare.map(declare.map(declare.dyn, mostAttributes), mostAttributes),
      capacity: declare.map(declare.map(declare.opaque(QUANTITY), mostAttributes), mostAttributes),
    }),
  ],
]);

export function checkSelectors(found: Findings, at: FieldPath, selectors: readonly Fields[]): void {
  if (selectors.length > mostSelectors) found.tooMany(at, selectors.length, mostSelectors);
  for (const [index, selector] of selectors.entries()) {
    const cel = maybeFields(selector['cel']);
    if (cel === undefined) found.required(at.index(index).child('cel'));
    else checkExpression(found, at.index(index).child('cel', 'expression'), textOf(cel['expression']));
  }
}

function checkExpression(found: Findings, at: FieldPath, source: string): void {
  if (Buffer.byteLength(source) > longestExpression) {
    found.add([fieldError.tooLong(at, longestExpression)]);
    return;
  }
  // `cel.bind` is not supported here, so expressions that use it are accepted without validation.
  if (source.includes('cel.bind(')) return;
  const { program, message } = compile(source, { variables });
  if (program === undefined) found.invalid(at, source, `compilation failed: ${message}`);
  else if (program.typeName !== 'bool' && program.typeName !== 'dyn')
    found.invalid(at, source, `must evaluate to bool or the unknown type, not ${program.typeName}`);
  else if (program.estimateCost().max > highestCost) found.forbidden(at, 'too complex, exceeds cost limit');
}
