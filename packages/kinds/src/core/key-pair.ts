import { createPrivateKey, X509Certificate } from 'node:crypto';

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;
const keyBlock = /-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----[^-]+-----END (?:[A-Z ]+ )?PRIVATE KEY-----/;

/** Why a certificate and key (base64 of PEM) are invalid, in Kubernetes' words; undefined if they match. */
export function keyPairProblem(certificate: string, key: string): string | undefined {
  const certificateText = certificateBlock.exec(decode(certificate))?.[0];
  if (certificateText === undefined) return 'tls: failed to find any PEM data in certificate input';
  const keyText = keyBlock.exec(decode(key))?.[0];
  if (keyText === undefined) return 'tls: failed to find any PEM data in key input';
  const parsed = attempt(() => new X509Certificate(certificateText));
  if (parsed === undefined) return 'x509: malformed certificate';
  const privateKey = attempt(() => createPrivateKey(keyText));
  if (privateKey === undefined) return 'tls: failed to parse private key';
  return parsed.checkPrivateKey(privateKey) ? undefined : 'tls: private key does not match public key';
}

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1');

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
