/** Bits of the key usage extension by Kubernetes' names; the first is the highest bit of the first byte. */
const keyBits = new Map([
  ['signing', 0],
  ['digital signature', 0],
  ['content commitment', 1],
  ['key encipherment', 2],
  ['data encipherment', 3],
  ['key agreement', 4],
  ['cert sign', 5],
  ['crl sign', 6],
  ['encipher only', 7],
  ['decipher only', 8],
]);

const extended = new Map([
  ['any', '2.5.29.37.0'],
  ['server auth', '1.3.6.1.5.5.7.3.1'],
  ['client auth', '1.3.6.1.5.5.7.3.2'],
  ['code signing', '1.3.6.1.5.5.7.3.3'],
  ['email protection', '1.3.6.1.5.5.7.3.4'],
  ['s/mime', '1.3.6.1.5.5.7.3.4'],
  ['ipsec end system', '1.3.6.1.5.5.7.3.5'],
  ['ipsec tunnel', '1.3.6.1.5.5.7.3.6'],
  ['ipsec user', '1.3.6.1.5.5.7.3.7'],
  ['timestamping', '1.3.6.1.5.5.7.3.8'],
  ['ocsp signing', '1.3.6.1.5.5.7.3.9'],
  ['microsoft sgc', '1.3.6.1.4.1.311.10.3.3'],
  ['netscape sgc', '2.16.840.1.113730.4.1'],
]);

/** The value of the key usage extension in its shortest form, as DER requires; undefined if none of the usages is a key usage. */
export function keyUsageBits(usages: readonly string[]): { readonly bytes: Buffer; readonly unused: number } | undefined {
  const bits = usages.flatMap((usage) => keyBits.get(usage) ?? []);
  if (bits.length === 0) return undefined;
  const last = Math.max(...bits);
  const bytes = Buffer.alloc((last >> 3) + 1);
  for (const bit of bits) bytes[bit >> 3]! |= 0x80 >> (bit & 7);
  return { bytes, unused: 7 - (last & 7) };
}

/** The object identifiers of the extended key usages, without duplicates. */
export function extendedUsages(usages: readonly string[]): string[] {
  return [...new Set(usages.flatMap((usage) => extended.get(usage) ?? []))];
}
