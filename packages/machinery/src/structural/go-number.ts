/** A number in Go's %v form: like JavaScript, but with an exponent below 0.0001 and at least two digits in the exponent. */
export function goNumber(value: number): string {
  const size = Math.abs(value);
  const text = size !== 0 && size < 1e-4 ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Go keeps a JSON number as an integer if it is one and fits in 64 bits. */
export function isGoInteger(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}
