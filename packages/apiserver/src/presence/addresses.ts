import { isIP } from 'node:net';
import type { Machine } from './machine.ts';

/** Where clients reach the server, when that is not the address it listens on: the address of a load balancer, a DNS name. */
export interface Advertised {
  readonly host: string;
  /** The port that the server listens on when absent. */
  readonly port?: number;
}

export interface AddressOptions {
  /** The address to listen on. */
  readonly host: string;
  readonly port: number;
  readonly advertise?: Advertised | undefined;
  /** Further names for the server's certificate. */
  readonly names?: readonly string[] | undefined;
}

/** Under which addresses a server is known. */
export interface Addresses {
  /** For clients anywhere: in kubeconfigs, and in the URLs of workspaces and views. */
  readonly url: string;
  /** For processes on the same machine: it works without a load balancer and without DNS. */
  readonly localUrl: string;
  /** What the endpoints of the `kubernetes` service name. Absent when no address is known, only a name. */
  readonly endpoint: { readonly address: string; readonly port: number } | undefined;
  readonly certificateNames: CertificateNames;
}

/** Names and addresses that the server's certificate has to cover. */
export interface CertificateNames {
  /** Somebody asked for them: a certificate without them is useless. */
  readonly required: readonly string[];
  /** Found on the machine: they are in every certificate that we issue ourselves. */
  readonly found: readonly string[];
}

/** Hosts may be called anything; certificates hold DNS names. */
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

/** The address that others find the machine at: that of the interface with the default route, else the first that leaves the machine. */
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
