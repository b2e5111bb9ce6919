import type { Quantity } from './quantity.ts';

/** `500m`, `1Gi` or `3e6`. */
export type QuantityFormat = 'decimal' | 'binary' | 'exponent';

/** The text is not a quantity; the message is Kubernetes'. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const wrongFormat = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const wrongNumber = 'unable to parse numeric part of quantity';
const wrongSuffix = "unable to parse quantity's suffix";

/** Larger amounts are meaningless for machines and would make arithmetic expensive. */
const textLimit = 256;
const exponentLimit = 1000;

const int64Max = 2n ** 63n - 1n;
const nano = -9;

interface Suffix {
  readonly format: QuantityFormat;
  readonly exponent: number;
}

const suffixes = new Map<string, Suffix>([
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((text, index): [string, Suffix] => [
    text,
    { format: 'decimal', exponent: index * 3 - 9 },
  ]),
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((text, index): [string, Suffix] => [text, { format: 'binary', exponent: index * 10 + 10 }]),
]);

function readSuffix(text: string): Suffix {
  const known = suffixes.get(text);
  if (known !== undefined) return known;
  if (!/^[eE][+-]?\d+$/.test(text) || Math.abs(Number(text.slice(1))) > exponentLimit) throw new QuantityError(wrongSuffix);
  return { format: 'exponent', exponent: Number(text.slice(1)) };
}

/** Digits can belong to one part only: otherwise a text that does not match is read once for each way to divide its digits. */
const shape = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]+[-+]?\d*|[-+]\d*|)$/;

export function parseQuantityText(text: string): Quantity {
  if (text === '' || text.length > textLimit) throw new QuantityError(wrongFormat);
  const parts = shape.exec(text);
  if (parts === null) throw new QuantityError(wrongFormat);
  const negative = parts[1] === '-';
  const before = parts[2]!;
  const whole = (before.startsWith('0') ? before.replace(/^0+/, '') : before) || '0';
  const fraction = parts[3] ?? '';
  const suffix = readSuffix(parts[4]!);
  const digits = whole + fraction;
  const magnitude = BigInt(digits);
  return suffix.format === 'binary'
    ? readBinary({ text, magnitude, negative, fraction, whole, exponent: suffix.exponent })
    : readDecimal({ text, magnitude, negative, digits, scale: suffix.exponent - fraction.length, format: suffix.format });
}

interface Decimal {
  readonly text: string;
  readonly magnitude: bigint;
  readonly negative: boolean;
  readonly digits: string;
  readonly scale: number;
  readonly format: QuantityFormat;
}

function readDecimal({ text, magnitude, negative, digits, scale, format }: Decimal): Quantity {
  const value = negative ? -magnitude : magnitude;
  if (scale >= nano && digits.length <= 18) {
    const kept = scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
    return kept || text === '0' ? { value, scale, format, text } : { value, scale, format };
  }
  requireDigit(text);
  return roundToNano(value, scale, format);
}

interface Binary {
  readonly text: string;
  readonly magnitude: bigint;
  readonly negative: boolean;
  readonly whole: string;
  readonly fraction: string;
  readonly exponent: number;
}

function readBinary({ text, magnitude, negative, whole, fraction, exponent }: Binary): Quantity {
  const product = magnitude << BigInt(exponent);
  const value = negative ? -product : product;
  // Only values within this many digits keep their notation: Kubernetes computes others in a way that loses the text.
  const fits = fraction === '' && 14 - whole.length - Math.trunc((exponent * 3) / 10) >= 0;
  if (fits) return (magnitude & 7n) !== 0n ? { value, scale: 0, format: 'binary', text } : { value, scale: 0, format: 'binary' };
  requireDigit(text);
  const rounded = roundToNano(product, -fraction.length, 'binary');
  let result = rounded;
  const one = rounded.scale < 0 ? 10n ** BigInt(-rounded.scale) : 1n;
  if (rounded.value > int64Max * one) result = { value: int64Max, scale: 0, format: 'binary' };
  else if (rounded.value < one && rounded.value > 0n) result = { ...rounded, format: 'decimal' };
  return negative ? { ...result, value: -result.value } : result;
}

/** Kubernetes reads `+` and `.k` as zero, but rejects `.Pi`: a value that cannot be kept as is must have a digit. */
function requireDigit(text: string): void {
  if (!/^[+-]?\.?\d/.test(text)) throw new QuantityError(wrongNumber);
}

/** The smallest unit is a billionth; remainders are rounded away from zero. */
function roundToNano(value: bigint, scale: number, format: QuantityFormat): Quantity {
  if (scale >= nano) return { value, scale, format };
  const divisor = 10n ** BigInt(nano - scale);
  const quotient = value / divisor;
  if (quotient * divisor === value) return { value: quotient, scale: nano, format };
  return { value: value < 0n ? quotient - 1n : quotient + 1n, scale: nano, format };
}
