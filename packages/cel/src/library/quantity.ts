import {
  addQuantities,
  compareQuantities,
  isQuantity,
  parseQuantity,
  type Quantity,
  QuantityError,
  scaledValue,
  subtractQuantities,
} from '@capstan/machinery';
import { BOOL, DOUBLE, INT, objectOf, STRING } from '../types/type.ts';
import { type Int, intValue, isInt64 } from '../value/integer.ts';
import { CelError, Double, OpaqueValue, type Value } from '../value/value.ts';
import { type FunctionEntry, member, overload } from './function.ts';

const NAME = 'kubernetes.Quantity';
export const QUANTITY = objectOf(NAME);

/** An amount such as `500m` or `1Gi`. */
export class QuantityValue extends OpaqueValue {
  readonly typeName = NAME;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }
}

function read(text: string): Value {
  try {
    return new QuantityValue(parseQuantity(text));
  } catch (error) {
    if (error instanceof QuantityError) return new CelError(error.message);
    throw error;
  }
}

function order(one: QuantityValue, other: QuantityValue): number {
  return compareQuantities(one.quantity, other.quantity);
}

/** The amount as an integer; undefined if it has a fraction or is too large. */
function whole({ quantity }: QuantityValue): bigint | undefined {
  const value = scaledValue(quantity);
  const isWhole = compareQuantities(quantity, { value, scale: 0, format: 'decimal' }) === 0;
  return isWhole && isInt64(value) ? value : undefined;
}

function asInteger(quantity: QuantityValue): Value {
  const value = whole(quantity);
  return value === undefined ? new CelError('cannot convert value to integer') : intValue(value);
}

function approximate({ quantity }: QuantityValue): Value {
  return new Double(Number(`${quantity.value}e${quantity.scale}`));
}

function sign({ quantity }: QuantityValue): number {
  return quantity.value < 0n ? -1 : quantity.value > 0n ? 1 : 0;
}

function ofInteger(value: Int): Quantity {
  return { value: BigInt(value), scale: 0, format: 'exponent' };
}

type Combine = (one: Quantity, other: Quantity) => Quantity;

function combined(name: 'add' | 'sub', combine: Combine): FunctionEntry {
  return [
    name,
    [
      member(
        `quantity_${name}`,
        [QUANTITY, QUANTITY],
        QUANTITY,
        (one: QuantityValue, other: QuantityValue) => new QuantityValue(combine(one.quantity, other.quantity)),
      ),
      member(
        `quantity_${name}_int`,
        [QUANTITY, INT],
        QUANTITY,
        (one: QuantityValue, other: Int) => new QuantityValue(combine(one.quantity, ofInteger(other))),
      ),
    ],
  ];
}

export const quantity: readonly FunctionEntry[] = [
  ['quantity', [overload('string_to_quantity', [STRING], QUANTITY, read)]],
  ['isQuantity', [overload('is_quantity_string', [STRING], BOOL, (text: string) => isQuantity(text))]],
  ['sign', [overload('quantity_sign', [QUANTITY], INT, sign)]],
  [
    'isGreaterThan',
    [member('quantity_is_greater_than', [QUANTITY, QUANTITY], BOOL, (a: QuantityValue, b: QuantityValue) => order(a, b) > 0)],
  ],
  ['isLessThan', [member('quantity_is_less_than', [QUANTITY, QUANTITY], BOOL, (a: QuantityValue, b: QuantityValue) => order(a, b) < 0)]],
  ['compareTo', [member('quantity_compare_to', [QUANTITY, QUANTITY], INT, order)]],
  ['asApproximateFloat', [member('quantity_get_float', [QUANTITY], DOUBLE, approximate)]],
  ['asInteger', [member('quantity_get_int', [QUANTITY], INT, asInteger)]],
  ['isInteger', [member('quantity_is_integer', [QUANTITY], BOOL, (value: QuantityValue) => whole(value) !== undefined)]],
  combined('add', addQuantities),
  combined('sub', subtractQuantities),
];
