import { type Connection, fixedCredentials } from '@capstan/client';

/**
 * The same server without credentials, for processes whose callers bring their own tokens. With a certificate of the process, a request without a valid
 * token would act as the process.
 */
export function anonymousConnection({ server, ca, insecure, tlsServerName, namespace }: Connection): Connection {
  return {
    server: new URL(server).origin,
    credentials: fixedCredentials({}),
    namespace,
    ...(ca !== undefined && { ca }),
    ...(insecure !== undefined && { insecure }),
    ...(tlsServerName !== undefined && { tlsServerName }),
  };
}
