import { parseQuantityText, QuantityError, type QuantityFormat } from './parse.ts';

export { QuantityError };

/** An amount such as `500m`, `1.5Gi` or `3e6`: an exact decimal, and the notation to print it in. */
export interface Quantity {
  /** The amount is `value × 10^scale`. */
  readonly value: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
  /** The original text, if Kubernetes keeps it as is. */
  readonly text?: string;
}

/** Parses a quantity; throws a QuantityError with Kubernetes' message. */
export function parseQuantity(text: string | number): Quantity {
  return parseQuantityText(typeof text === 'number' ? String(text).replace('e+', 'e') : text.trim());
}

/** The form that the server stores and returns: `1000m` → `1`, `0.5` → `500m`, `1024Ki` → `1Mi`. */
export function canonicalizeQuantity(text: string | number): string {
  if (typeof text === 'string' && isKeptAsIs(text)) return text;
  return printQuantity(parseQuantity(text));
}

/** The common case without arithmetic: up to 15 digits and one decimal suffix, neither padded with zeros. */
function isKeptAsIs(text: string): boolean {
  const length = text.length;
  if (length === 0 || length > 16) return false;
  const last = text.charCodeAt(length - 1);
  const digits = last >= 0x30 && last <= 0x39 ? length : isDecimalSuffix(last) ? length - 1 : 0;
  if (digits === 0 || digits > 15 || text.charCodeAt(0) === 0x30) return text === '0';
  for (let index = 0; index < digits; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return !text.startsWith('000', digits - 3);
}

/** n u m k M G T P */
function isDecimalSuffix(code: number): boolean {
  return (
    code === 0x6d || code === 0x6b || code === 0x4d || code === 0x47 || code === 0x6e || code === 0x75 || code === 0x54 || code === 0x50
  );
}

export function isQuantity(text: string | number): boolean {
  try {
    parseQuantity(text);
    return true;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

const decimalSuffixes = new Map([
  [-9, 'n'],
  [-6, 'u'],
  [-3, 'm'],
  [0, ''],
  [3, 'k'],
  [6, 'M'],
  [9, 'G'],
  [12, 'T'],
  [15, 'P'],
  [18, 'E'],
]);
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

export function printQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  if (quantity.value === 0n) return '0';
  if (quantity.format === 'binary') {
    const whole = wholeValue(quantity);
    if (whole !== undefined && (whole <= -1024n || whole >= 1024n)) return printBinary(whole);
  }
  return printDecimal(quantity);
}

function printBinary(whole: bigint): string {
  let power = 0;
  let value = whole;
  while (power < binarySuffixes.length - 1 && value % 1024n === 0n) {
    value /= 1024n;
    power++;
  }
  return `${value}${binarySuffixes[power]}`;
}

/** Uses the fewest digits before an exponent divisible by three. */
function printDecimal(quantity: Quantity): string {
  let { value, scale } = quantity;
  while (value % 10n === 0n) {
    value /= 10n;
    scale++;
  }
  const excess = ((scale % 3) + 3) % 3;
  value *= 10n ** BigInt(excess);
  scale -= excess;
  if (quantity.format === 'exponent') return scale === 0 ? String(value) : `${value}e${scale}`;
  if (scale > 18) return `${value * 10n ** BigInt(scale - 18)}E`;
  return `${value}${decimalSuffixes.get(scale)}`;
}

/** The amount as an integer; undefined if it has a fraction. */
function wholeValue({ value, scale }: Quantity): bigint | undefined {
  if (scale >= 0) return value * 10n ** BigInt(scale);
  const divisor = 10n ** BigInt(-scale);
  return value % divisor === 0n ? value / divisor : undefined;
}

/** The amount in units of `10^scale`, rounded away from zero: for `2500m`, 3 in units of one and 2500 in thousandths (scale -3). */
export function scaledValue(quantity: Quantity, scale = 0): bigint {
  const shift = quantity.scale - scale;
  if (shift >= 0) return quantity.value * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  const whole = quantity.value / divisor;
  if (whole * divisor === quantity.value) return whole;
  return quantity.value < 0n ? whole - 1n : whole + 1n;
}

/** Negative if `one` is less, 0 if both are the same amount, positive if it is more. */
export function compareQuantities(one: Quantity, other: Quantity): number {
  let left = one.value;
  let right = other.value;
  if (one.scale > other.scale) left *= 10n ** BigInt(one.scale - other.scale);
  else if (other.scale > one.scale) right *= 10n ** BigInt(other.scale - one.scale);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** The sum, in the notation of the first summand unless that is zero. */
export function addQuantities(one: Quantity, other: Quantity): Quantity {
  const scale = Math.min(one.scale, other.scale);
  const value = one.value * 10n ** BigInt(one.scale - scale) + other.value * 10n ** BigInt(other.scale - scale);
  return { value, scale, format: one.value === 0n ? other.format : one.format };
}

export function subtractQuantities(one: Quantity, other: Quantity): Quantity {
  return addQuantities(one, { ...other, value: -other.value });
}

export const zeroQuantity: Quantity = { value: 0n, scale: 0, format: 'decimal', text: '0' };
