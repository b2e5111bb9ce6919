/** A number as Go's %v writes it: like JavaScript, but with exponents for what is smaller than 0.0001 and at least two digits in them. */
export function goNumber(value: number): string {
  const size = Math.abs(value);
  const text = size !== 0 && size < 1e-4 ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Go keeps a number from JSON as an integer when it is one and fits in 64 bits. */
export function isGoInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}
