import { isIP } from 'node:net';
import type { Machine } from './machine.ts';

/** The address at which clients reach the server if it differs from the address it listens on: a load balancer or a DNS name. */
export interface Advertised {
  readonly host: string;
  /** Defaults to the port that the server listens on. */
  readonly port?: number;
}

export interface AddressOptions {
  /** The address to listen on. */
  readonly host: string;
  readonly port: number;
  readonly advertise?: Advertised | undefined;
  /** Additional names for the server's certificate. */
  readonly names?: readonly string[] | undefined;
}

/** The addresses of a server. */
export interface Addresses {
  /** For clients anywhere: used in kubeconfigs and in the URLs of workspaces and views. */
  readonly url: string;
  /** For processes on the same machine: works without a load balancer or DNS. */
  readonly localUrl: string;
  /** The endpoint of the `kubernetes` service. Undefined if only a name is known, not an address. */
  readonly endpoint: { readonly address: string; readonly port: number } | undefined;
  readonly certificateNames: CertificateNames;
}

/** Names and addresses that the server's certificate must cover. */
export interface CertificateNames {
  /** Configured by the administrator: a certificate without them must be replaced. */
  readonly required: readonly string[];
  /** Found on the machine: included in every certificate that we issue ourselves. */
  readonly found: readonly string[];
}

/** A hostname can contain any characters; certificates hold only DNS names. */
const isDnsName = (name: string): boolean => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name);
const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

export function addressesOf({ host, port, advertise, names = [] }: AddressOptions, machine: Machine): Addresses {
  const found = isWildcard(host) ? outerAddress(host, machine) : host;
  const advertised = { host: advertise?.host ?? found, port: advertise?.port ?? port };
  const address = [advertised.host, found].find((one) => isIP(one) !== 0);
  return {
    url: urlOf(advertised),
    localUrl: urlOf({ host: localHost(host), port }),
    endpoint: address === undefined ? undefined : { address, port: address === advertised.host ? advertised.port : port },
    certificateNames: {
      required: [...names, ...(advertise === undefined ? [] : [advertise.host]), ...(isWildcard(host) ? [] : [host])],
      found: isWildcard(host) ? [...[machine.hostname].filter(isDnsName), ...outerAddresses(machine).map(({ address: one }) => one)] : [],
    },
  };
}

export function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const name = isIP(host) === 6 ? `[${host}]` : host;
  return port === 443 ? `https://${name}` : `https://${name}:${port}`;
}

function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

/**
 * The address at which others reach the machine: that of the interface with the default route, or else the first one that is not
 * loopback.
 */
function outerAddress(host: string, machine: Machine): string {
  const outer = outerAddresses(machine);
  const preferred = [...outer.filter(({ name }) => name === machine.defaultInterface), ...outer];
  const of = (family: 'IPv4' | 'IPv6'): string | undefined => preferred.find((one) => one.family === family)?.address;
  return of('IPv4') ?? (host === '::' ? of('IPv6') : undefined) ?? '127.0.0.1';
}

function outerAddresses({ interfaces }: Machine): { name: string; address: string; family: string }[] {
  return Object.entries(interfaces).flatMap(([name, addresses = []]) =>
    addresses
      .filter(({ internal, address }) => !internal && !address.startsWith('fe80:'))
      .map(({ address, family }) => ({ name, address, family })),
  );
}
