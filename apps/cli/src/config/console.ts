import { isLoopback } from '@capstan/serving';
import { checked, listOf, section, text, truth, url, wholeNumber } from './shape.ts';

const path = text('a path');
const address = section({ host: text('an address such as 127.0.0.1'), port: wholeNumber(0, 65_535) });

/** The section `console` of the configuration file. */
export const consoleShape = section({
  enabled: truth,
  kubeconfigFile: path,
  listen: address,
  health: address,
  tls: checked(section({ certificateFile: path, keyFile: path }), ({ certificateFile, keyFile }) =>
    certificateFile !== undefined && keyFile !== undefined ? undefined : 'expected both "certificateFile" and "keyFile"',
  ),
  /** Something in front of it speaks https with browsers. */
  plainText: truth,
  /** In the addresses that browsers use. */
  names: listOf(text('a host name'), 'a list of host names such as [console.example.com]'),
  pagesDirectory: path,
  runtimeApi: section({ url: url('a URL such as http://127.0.0.1:6444'), authorityFile: path }),
  sessions: section({
    idleMinutes: wholeNumber(1, 525_600),
    maxAgeMinutes: wholeNumber(1, 525_600),
    maximum: wholeNumber(1, 100_000),
    perUser: wholeNumber(1, 10_000),
  }),
  oidc: checked(
    section({
      issuer: url('a URL such as https://accounts.example.com'),
      clientId: text('a name'),
      clientSecretFile: path,
      scopes: listOf(text('a scope'), 'a list of scopes such as [openid, email]'),
      authorityFile: path,
    }),
    ({ issuer, clientId }) => (issuer !== undefined && clientId !== undefined ? undefined : 'expected both "issuer" and "clientId"'),
  ),
  limits: section({
    bodyBytes: wholeNumber(1_024, 64 * 1024 * 1024),
    connections: wholeNumber(1, 1_000_000),
    connectionsPerAddress: wholeNumber(1, 1_000_000),
    socketsPerSession: wholeNumber(1, 10_000),
  }),
});

export type ConsoleConfig = ReturnType<typeof consoleShape>;

/** Whether people on other machines can reach it, so that it needs a certificate. */
export function needsCertificate({ listen, tls, plainText = false }: ConsoleConfig): boolean {
  return tls === undefined && !plainText && !isLoopback(listen?.host ?? '127.0.0.1');
}
