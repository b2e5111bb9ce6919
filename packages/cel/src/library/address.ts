/** An IP address: 4 or 16 bytes. */
export type Address = Uint8Array;

/** Parses an address as Go's netip does, without zones; returns the error message if it is invalid. */
export function parseAddress(text: string): Address | string {
  const separator = /[.:]/.exec(text)?.[0];
  if (separator === undefined) return 'unable to parse IP';
  return separator === '.' ? parseVersion4(text) : (parseVersion6(text) ?? 'unable to parse IP');
}

const [zero, nine, dot, colon] = [48, 57, 46, 58];

function parseVersion4(text: string): Address | string {
  return soundVersion4(text) ?? describeVersion4(text);
}

/** Undefined for any text with an error. Expressions parse addresses by the ten thousand. */
function soundVersion4(text: string): Address | undefined {
  if (text.length > 15) return undefined;
  const bytes = new Uint8Array(4);
  let [field, value, digits] = [0, 0, 0];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === dot) {
      if (digits === 0 || field === 3) return undefined;
      bytes[field++] = value;
      [value, digits] = [0, 0];
      continue;
    }
    if (code < zero || code > nine || (digits > 0 && value === 0)) return undefined;
    value = value * 10 + code - zero;
    if (value > 255) return undefined;
    digits++;
  }
  if (digits === 0 || field < 3) return undefined;
  bytes[3] = value;
  return bytes;
}

/** The same for a text with errors: says which. */
function describeVersion4(text: string): Address | string {
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
  const bytes = new Uint8Array(16);
  let length = 0;
  let gap = text.startsWith('::') ? 0 : -1;
  for (let at = gap < 0 ? 0 : 2; at < text.length; ) {
    const { value, end } = hexGroup(text, at);
    if (end === at || length === 16) return undefined;
    if (text.charCodeAt(end) === dot) {
      const embedded = parseVersion4(text.slice(at));
      if (typeof embedded === 'string' || length > 12) return undefined;
      bytes.set(embedded, length);
      length += 4;
      break;
    }
    bytes[length++] = value >> 8;
    bytes[length++] = value & 0xff;
    if (end === text.length) break;
    if (text.charCodeAt(end) !== colon) return undefined;
    at = end + 1;
    if (text.charCodeAt(at) === colon) {
      if (gap >= 0) return undefined;
      gap = length;
      at++;
    } else if (at === text.length) return undefined;
  }
  if (gap < 0) return length === 16 ? bytes : undefined;
  if (length > 14) return undefined;
  bytes.copyWithin(16 - (length - gap), gap, length);
  return bytes.fill(0, gap, 16 - (length - gap));
}

/** Up to four hexadecimal digits, and where they end. */
function hexGroup(text: string, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  let end = start;
  for (; end < text.length && end < start + 4; end++) {
    const code = text.charCodeAt(end);
    const digit = code <= nine ? code - zero : (code | 32) - 87;
    if (digit < 0 || digit > 15 || (code > nine && digit < 10)) break;
    value = value * 16 + digit;
  }
  return { value, end };
}

/** Whether an IPv6 address contains an IPv4 address (`::ffff:1.2.3.4`). */
export function isMapped(address: Address): boolean {
  if (address.length !== 16 || address[10] !== 0xff || address[11] !== 0xff) return false;
  for (let index = 0; index < 10; index++) if (address[index] !== 0) return false;
  return true;
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
