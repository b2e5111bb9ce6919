/** IPv4 ranges for units. */
export interface Range {
  /** As a number. */
  readonly base: number;
  readonly prefix: number;
}

/** Rarely used parts of the private ranges. */
const candidates = ['10.213.64.0/20', '10.87.160.0/20', '172.29.208.0/20', '172.23.64.0/20', '192.168.176.0/20', '198.18.96.0/20'];

export function parseRange(text: string): Range {
  const [address, prefix] = text.split('/');
  const size = prefix === undefined ? 32 : Number(prefix);
  const number = address!.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  return { base: number - (number % 2 ** (32 - size)), prefix: size };
}

export function formatAddress(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
}

function overlaps(a: Range, b: Range): boolean {
  const size = Math.min(a.prefix, b.prefix);
  const block = 2 ** (32 - size);
  return Math.floor(a.base / block) === Math.floor(b.base / block);
}

/** The first candidate that no route of the machine leads to. Undefined if all are in use. */
export function freeRange(routes: readonly string[]): Range | undefined {
  const used = routes.filter((route) => /^[\d.]+(\/\d+)?$/.test(route) && route !== '0.0.0.0/0').map(parseRange);
  return candidates.map(parseRange).find((candidate) => !used.some((range) => overlaps(range, candidate)));
}
