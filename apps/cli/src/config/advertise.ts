import { isIPv6 } from 'node:net';

/**
 * A host with or without a port: `api.example.com`, `192.0.2.1:443`, `[2001:db8::1]:443`, or the same as a URL. Undefined if the text is
 * invalid.
 */
export function parseAdvertise(text: string): { readonly host: string; readonly port?: number } | undefined {
  const rest = text.replace(/^https:\/\//, '').replace(/\/$/, '');
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(rest) ?? [];
  const host = bracketed ?? plain ?? (isIPv6(rest) ? rest : undefined);
  if (host === undefined || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  if (digits === undefined) return { host };
  const port = Number(digits);
  return port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** The inverse of `parseAdvertise`. */
export function formatAdvertise({ host, port }: { readonly host: string; readonly port?: number }): string {
  if (port === undefined) return host;
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}
