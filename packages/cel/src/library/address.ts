/** An IP address: 4 or 16 bytes. */
export type Address = Uint8Array;

/** Parses an address as Go's netip does, without zones; returns the error message if it is invalid. */
export function parseAddress(text: string): Address | string {
  const separator = /[.:]/.exec(text)?.[0];
  if (separator === undefined) return 'unable to parse IP';
  return separator === '.' ? parseVersion4(text) : (parseVersion6(text) ?? 'unable to parse IP');
}

function parseVersion4(text: string): Address | string {
  const parts = text.split('.');
  const bytes = new Uint8Array(4);
  for (const [index, part] of parts.entries()) {
    const unexpected = /\D/.exec(part);
    if (unexpected !== null) return `unexpected character (at ${JSON.stringify(text.slice(text.indexOf(unexpected[0])))})`;
    if (part === '') return `IPv4 field must have at least one digit (at ${JSON.stringify(parts.slice(index).join('.'))})`;
    if (part.length > 1 && part.startsWith('0')) return 'IPv4 field has octet with leading zero';
    if (Number(part) > 255) return 'IPv4 field has value >255';
    if (index > 3) return 'IPv4 address too long';
    bytes[index] = Number(part);
  }
  return parts.length < 4 ? 'IPv4 address too short' : bytes;
}

function parseVersion6(text: string): Address | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = readGroups(halves[0]!, halves.length === 1);
  const tail = halves.length === 2 ? readGroups(halves[1]!, true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1 ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...head, ...new Uint8Array(missing), ...tail]);
}

/** The bytes of colon-separated groups; the last may be an IPv4 address. */
function readGroups(text: string, mayEndInVersion4: boolean): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    if (group.includes('.')) {
      const embedded = mayEndInVersion4 && index === groups.length - 1 ? parseVersion4(group) : '';
      if (typeof embedded === 'string') return undefined;
      bytes.push(...embedded);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}

/** Whether an IPv6 address contains an IPv4 address (`::ffff:1.2.3.4`). */
export function isMapped(address: Address): boolean {
  return address.length === 16 && address.subarray(0, 10).every((byte) => byte === 0) && address[10] === 0xff && address[11] === 0xff;
}

/** The canonical form, with the longest run of zero groups as `::`. */
export function printAddress(address: Address): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => (address[index * 2]! << 8) | address[index * 2 + 1]!);
  const { start, length } = longestZeros(groups);
  const printed = groups.map((group) => group.toString(16));
  if (length < 2) return printed.join(':');
  return `${printed.slice(0, start).join(':')}::${printed.slice(start + length).join(':')}`;
}

function longestZeros(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

/** Whether two addresses have the same first bits. */
export function sharePrefix(one: Address, other: Address, bits: number): boolean {
  if (one.length !== other.length) return false;
  const whole = bits >> 3;
  for (let index = 0; index < whole; index++) if (one[index] !== other[index]) return false;
  const rest = bits & 7;
  return rest === 0 || (one[whole]! ^ other[whole]!) >> (8 - rest) === 0;
}

/** The address with all bits after the prefix cleared. */
export function maskAddress(address: Address, bits: number): Address {
  return address.map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8));
    return byte & (0xff << (8 - kept)) & 0xff;
  });
}
