import { isLoopback } from '@capstan/serving';
import { checked, section, text, truth, wholeNumber } from './shape.ts';

const path = text('a path');
const address = section({ host: text('an address such as 127.0.0.1'), port: wholeNumber(0, 65_535) });

/** The section `runtimeApi` of the configuration file. */
export const runtimeApiShape = checked(
  section({
    enabled: truth,
    kubeconfigFile: path,
    listen: address,
    health: address,
    tls: checked(section({ certificateFile: path, keyFile: path }), ({ certificateFile, keyFile }) =>
      certificateFile !== undefined && keyFile !== undefined ? undefined : 'expected both "certificateFile" and "keyFile"',
    ),
    plainText: truth,
    jobs: section({ tokenFile: path }),
    limits: section({
      bodyBytes: wholeNumber(1_024, 64 * 1024 * 1024),
      connections: wholeNumber(1, 1_000_000),
      connectionsPerAddress: wholeNumber(1, 1_000_000),
      streams: wholeNumber(1, 100_000),
      streamsPerUser: wholeNumber(1, 100_000),
      requests: wholeNumber(1, 1_000_000),
      requestsPerToken: wholeNumber(1, 1_000_000),
      heldMiB: wholeNumber(16, 1_000_000),
      heldPerTokenMiB: wholeNumber(1, 1_000_000),
    }),
  }),
  ({ listen, tls, plainText = false }) =>
    tls !== undefined || plainText || isLoopback(listen?.host ?? '127.0.0.1')
      ? undefined
      : `tokens would cross the network in plain text: expected "tls" for the address ${listen?.host}, or "plainText: true" if something in front of it encrypts`,
);

export type RuntimeApiConfig = ReturnType<typeof runtimeApiShape>;
