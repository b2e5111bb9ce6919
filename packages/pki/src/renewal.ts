import { stat } from 'node:fs/promises';
import { ensurePki, type Pki, type PkiOptions, trustedAuthorities } from './pki.ts';
import { rotationFile } from './rotation.ts';

export interface RenewalOptions {
  /** Called on every check, since the addresses of a machine change. */
  readonly wanted?: () => PkiOptions;
  readonly signal: AbortSignal;
  /** Called with the new state when a certificate was replaced: pass `serving` to `tlsServer.setSecureContext`. */
  readonly onRenewed: (pki: Pki) => void;
  readonly onError: (error: unknown) => void;
  readonly intervalMilliseconds?: number;
  /** How often to look whether the rotation of the authority went on. */
  readonly followMilliseconds?: number;
}

/** The options for `tls.Server.setSecureContext` to use the current certificate for new connections. */
export function secureContext(pki: Pki): { cert: string; key: string; ca: string } {
  return { cert: pki.serving.certificate, key: pki.serving.key, ca: trustedAuthorities(pki) };
}

/** Everything with a certificate. */
const parts = [
  'authority',
  'serving',
  'admin',
  'platformAdmin',
  'controllerManager',
  'kubeletClient',
  'apiServer',
  'platformControllers',
  'console',
  'signer',
] as const;

/** Checks the certificates now: renews those past two thirds of their lifetime, and loads those replaced on disk. */
export async function renew(pki: Pki, options: PkiOptions = {}): Promise<{ pki: Pki; changed: boolean }> {
  const fresh = await ensurePki(pki.directory, options);
  const changed =
    parts.some((part) => fresh[part]?.certificate !== pki[part]?.certificate) ||
    JSON.stringify(fresh.rotation) !== JSON.stringify(pki.rotation);
  return { pki: fresh, changed };
}

/** In milliseconds, after a failure. */
const tryAgainAfter = 10_000;

/** Keeps the certificates fresh, and follows the rotation of the authority, until the signal aborts. The returned function checks them immediately. */
export function keepFresh(pki: Pki, options: RenewalOptions): () => void {
  const { wanted = () => ({}), signal, onRenewed, onError, intervalMilliseconds, followMilliseconds = 1_000 } = options;
  let current = pki;
  let isLooking = false;
  let seen: string | undefined;
  const look = async (): Promise<void> => {
    // On a slow disk a check may take longer than the interval; a concurrent one would renew the same certificates again.
    if (isLooking || signal.aborted) return;
    isLooking = true;
    try {
      const before = await versionOf(pki.directory);
      const result = await renew(current, wanted());
      seen = before;
      if (signal.aborted || !result.changed) return;
      current = result.pki;
      onRenewed(current);
    } catch (error) {
      onError(error);
      setTimeout(() => (seen = undefined), tryAgainAfter).unref();
      seen = await versionOf(pki.directory);
    } finally {
      isLooking = false;
    }
  };
  const follow = async (): Promise<void> => {
    if ((await versionOf(pki.directory)) !== seen) await look();
  };
  const timers = [
    setInterval(() => void look(), intervalMilliseconds ?? 6 * 60 * 60 * 1000),
    setInterval(() => void follow(), followMilliseconds),
  ];
  for (const timer of timers) {
    timer.unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }
  return () => void look();
}

/** Changes with every step of the rotation. */
async function versionOf(directory: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(rotationFile(directory));
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return '';
  }
}
