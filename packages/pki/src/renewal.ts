import { ensurePki, type Pki, type PkiOptions } from './pki.ts';

export interface RenewalOptions {
  /** Called on every check, since the addresses of a machine change. */
  readonly wanted?: () => PkiOptions;
  readonly signal: AbortSignal;
  /** Called with the new state when a certificate was replaced: pass `serving` to `tlsServer.setSecureContext`. */
  readonly onRenewed: (pki: Pki) => void;
  readonly onError: (error: unknown) => void;
  readonly intervalMilliseconds?: number;
}

/** The options for `tls.Server.setSecureContext` to use the current certificate for new connections. */
export function secureContext(pki: Pki): { cert: string; key: string; ca: string } {
  return { cert: pki.serving.certificate, key: pki.serving.key, ca: pki.authority.certificate };
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
  'signer',
] as const;

/** Checks the certificates now: renews those past two thirds of their lifetime, and loads those replaced on disk. */
export async function renew(pki: Pki, options: PkiOptions = {}): Promise<{ pki: Pki; changed: boolean }> {
  const fresh = await ensurePki(pki.directory, options);
  const changed = parts.some((part) => fresh[part]?.certificate !== pki[part]?.certificate);
  return { pki: fresh, changed };
}

/** Keeps the certificates fresh until the signal aborts. The returned function checks them immediately. */
export function keepFresh(pki: Pki, { wanted = () => ({}), signal, onRenewed, onError, intervalMilliseconds }: RenewalOptions): () => void {
  let current = pki;
  let isLooking = false;
  const look = (): void => {
    // On a slow disk a check may take longer than the interval; a concurrent one would renew the same certificates again.
    if (isLooking || signal.aborted) return;
    isLooking = true;
    renew(current, wanted())
      .then((result) => {
        if (signal.aborted || !result.changed) return;
        current = result.pki;
        onRenewed(current);
      })
      .catch(onError)
      .finally(() => (isLooking = false));
  };
  const timer = setInterval(look, intervalMilliseconds ?? 6 * 60 * 60 * 1000);
  timer.unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return look;
}
