import { BOOL, INT, opaqueOf, STRING } from '../types/type.ts';
import { CelError, noSuchOverload, OpaqueValue, type Value } from '../value/value.ts';
import { type Address, isMapped, maskAddress, parseAddress, printAddress, sharePrefix } from './address.ts';
import { type FunctionEntry, member, overload } from './function.ts';

const IP = opaqueOf('net.IP');
const CIDR = opaqueOf('net.CIDR');

export class IpValue extends OpaqueValue {
  readonly typeName = 'net.IP';
  readonly address: Address;

  constructor(address: Address) {
    super();
    this.address = address;
  }

  get size(): number {
    return this.address.length;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof IpValue && Buffer.compare(this.address, other.address) === 0;
  }
}

export class CidrValue extends OpaqueValue {
  readonly typeName = 'net.CIDR';
  readonly address: Address;
  readonly bits: number;

  constructor(address: Address, bits: number) {
    super();
    this.address = address;
    this.bits = bits;
  }

  /** The number of bytes that the prefix covers. */
  get size(): number {
    return Math.ceil(this.bits / 8);
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof CidrValue && this.bits === other.bits && Buffer.compare(this.address, other.address) === 0;
  }
}

function readIp(text: string): IpValue | CelError {
  const zone = text.indexOf('%');
  const address = parseAddress(zone < 0 ? text : text.slice(0, zone));
  const problem = typeof address === 'string' ? address : zoneProblem(text, zone, address);
  if (typeof address !== 'string' && problem === undefined && zone < 0 && !isMapped(address)) return new IpValue(address);
  const shown = JSON.stringify(text);
  if (typeof address === 'string' || problem !== undefined) {
    return new CelError(`IP Address ${shown} parse error during conversion from string: ParseAddr(${shown}): ${problem}`);
  }
  if (zone >= 0) return new CelError(`IP address ${shown} with zone value is not allowed`);
  return new CelError(`IPv4-mapped IPv6 address ${shown} is not allowed`);
}

function zoneProblem(text: string, zone: number, address: Address): string | undefined {
  if (zone === text.length - 1) return 'zone must be a non-empty string';
  return zone >= 0 && address.length === 4 ? 'zones cannot be used with IPv4 addresses' : undefined;
}

function readCidr(text: string): CidrValue | CelError {
  const shown = (): string => JSON.stringify(text);
  const prefix = 'network address parse error during conversion from string: ';
  const refuse = (problem: string): CelError => new CelError(`${prefix}${prefix}netip.ParsePrefix(${shown()}): ${problem}`);
  const slash = text.lastIndexOf('/');
  if (slash < 0) return refuse("no '/'");
  const host = text.slice(0, slash);
  const address = parseAddress(host);
  if (typeof address === 'string') return refuse(`ParseAddr(${JSON.stringify(host)}): ${address}`);
  const bits = text.slice(slash + 1);
  if (!/^(0|[1-9]\d*)$/.test(bits)) return refuse(`bad bits after slash: ${JSON.stringify(bits)}`);
  if (Number(bits) > address.length * 8) return refuse('prefix length out of range');
  if (isMapped(address)) return new CelError(`${prefix}IPv4-mapped IPv6 address ${shown()} is not allowed`);
  return new CidrValue(address, Number(bits));
}

function containsIp(cidr: CidrValue, ip: IpValue | CelError): Value {
  return ip instanceof CelError ? noSuchOverload : sharePrefix(cidr.address, ip.address, cidr.bits);
}

function containsCidr(cidr: CidrValue, other: CidrValue | CelError): Value {
  if (other instanceof CelError) return other;
  return cidr.bits <= other.bits && sharePrefix(cidr.address, other.address, cidr.bits);
}

function isCanonical(text: string): Value {
  const ip = readIp(text);
  return ip instanceof CelError ? ip : printAddress(ip.address) === text;
}

const isZero = (address: Address): boolean => address.every((byte) => byte === 0);

function isLoopback({ address }: IpValue): boolean {
  return address.length === 4 ? address[0] === 127 : isZero(address.subarray(0, 15)) && address[15] === 1;
}

function isMulticast({ address }: IpValue): boolean {
  return address.length === 4 ? (address[0]! & 0xf0) === 0xe0 : address[0] === 0xff;
}

function isLinkLocalMulticast({ address }: IpValue): boolean {
  if (address.length === 4) return address[0] === 224 && address[1] === 0 && address[2] === 0;
  return address[0] === 0xff && (address[1]! & 0x0f) === 0x02;
}

function isLinkLocalUnicast({ address }: IpValue): boolean {
  if (address.length === 4) return address[0] === 169 && address[1] === 254;
  return address[0] === 0xfe && (address[1]! & 0xc0) === 0x80;
}

function isGlobalUnicast(ip: IpValue): boolean {
  const isBroadcast = ip.address.length === 4 && ip.address.every((byte) => byte === 255);
  return !isBroadcast && !isZero(ip.address) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}

const cidrText = ({ address, bits }: CidrValue): string => `${printAddress(address)}/${bits}`;

export const network: readonly FunctionEntry[] = [
  ['ip', [overload('string_to_ip', [STRING], IP, readIp), member('cidr_ip', [CIDR], IP, (cidr: CidrValue) => new IpValue(cidr.address))]],
  ['family', [member('ip_family', [IP], INT, (ip: IpValue) => (ip.address.length === 4 ? 4 : 6))]],
  ['ip.isCanonical', [overload('ip_is_canonical', [STRING], BOOL, isCanonical)]],
  ['isUnspecified', [member('ip_is_unspecified', [IP], BOOL, (ip: IpValue) => isZero(ip.address))]],
  ['isLoopback', [member('ip_is_loopback', [IP], BOOL, isLoopback)]],
  ['isLinkLocalMulticast', [member('ip_is_link_local_multicast', [IP], BOOL, isLinkLocalMulticast)]],
  ['isLinkLocalUnicast', [member('ip_is_link_local_unicast', [IP], BOOL, isLinkLocalUnicast)]],
  ['isGlobalUnicast', [member('ip_is_global_unicast', [IP], BOOL, isGlobalUnicast)]],
  ['isIP', [overload('is_ip', [STRING], BOOL, (text: string) => readIp(text) instanceof IpValue)]],
  [
    'string',
    [
      overload('ip_to_string', [IP], STRING, (ip: IpValue) => printAddress(ip.address)),
      overload('cidr_to_string', [CIDR], STRING, cidrText),
    ],
  ],
  ['cidr', [overload('string_to_cidr', [STRING], CIDR, readCidr)]],
  [
    'containsIP',
    [
      member('cidr_contains_ip_string', [CIDR, STRING], BOOL, (cidr: CidrValue, text: string) => containsIp(cidr, readIp(text))),
      member('cidr_contains_ip_ip', [CIDR, IP], BOOL, containsIp),
    ],
  ],
  [
    'containsCIDR',
    [
      member('cidr_contains_cidr_string', [CIDR, STRING], BOOL, (cidr: CidrValue, text: string) => containsCidr(cidr, readCidr(text))),
      member('cidr_contains_cidr', [CIDR, CIDR], BOOL, containsCidr),
    ],
  ],
  ['prefixLength', [member('cidr_prefix_length', [CIDR], INT, (cidr: CidrValue) => cidr.bits)]],
  ['masked', [member('cidr_masked', [CIDR], CIDR, (cidr: CidrValue) => new CidrValue(maskAddress(cidr.address, cidr.bits), cidr.bits))]],
  ['isCIDR', [overload('is_cidr', [STRING], BOOL, (text: string) => readCidr(text) instanceof CidrValue)]],
];
