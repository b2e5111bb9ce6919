import { ensurePki, type Pki, type PkiOptions } from './pki.ts';

export interface RenewalOptions {
  /** Asked at every look: addresses of a machine come and go. */
  readonly wanted?: () => PkiOptions;
  readonly signal: AbortSignal;
  /** Called with the new state when a certificate was replaced: hand `serving` to `tlsServer.setSecureContext`. */
  readonly onRenewed: (pki: Pki) => void;
  readonly onError: (error: unknown) => void;
  readonly intervalMilliseconds?: number;
}

/** What `tls.Server.setSecureContext` takes to answer new connections with the current certificate. */
export function secureContext(pki: Pki): { cert: string; key: string; ca: string } {
  return { cert: pki.serving.certificate, key: pki.serving.key, ca: pki.authority.certificate };
}

/** Looks at the certificates now and renews what has run through two thirds of its life, or what someone replaced on disk. */
export async function renew(pki: Pki, options: PkiOptions = {}): Promise<{ pki: Pki; changed: boolean }> {
  const fresh = await ensurePki(pki.directory, options);
  const changed = (['authority', 'serving', 'admin', 'platformAdmin', 'controllerManager', 'signer'] as const).some(
    (part) => fresh[part]?.certificate !== pki[part]?.certificate,
  );
  return { pki: fresh, changed };
}

/** Keeps the certificates fresh until the signal says stop. The function looks at once, for when something about them has changed. */
export function keepFresh(pki: Pki, { wanted = () => ({}), signal, onRenewed, onError, intervalMilliseconds }: RenewalOptions): () => void {
  let current = pki;
  let isLooking = false;
  const look = (): void => {
    // On a slow disk one look may take longer than the time to the next; two would renew the same twice.
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
