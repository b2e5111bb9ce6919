import type { ProductStates } from '../content/reconcile.ts';

/** How far each product is installed by this process, for those that wait for it. */
export class Installations {
  #states: ProductStates = new Map();
  readonly #followers = new Set<() => void>();

  set(states: ProductStates): void {
    this.#states = states;
    for (const follower of [...this.#followers]) follower();
  }

  /** Resolves when the product is installed, or with the signal. `onWaiting` is called with the reason why it is not. */
  async installed(
    name: string,
    { signal, onWaiting }: { readonly signal: AbortSignal; readonly onWaiting: (why: string) => void },
  ): Promise<void> {
    while (!signal.aborted) {
      const { state, message } = this.#states.get(name) ?? {};
      if (state === 'Installed') return;
      onWaiting(message ?? 'its turn has not come');
      await this.#change(signal);
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const follower = (): void => {
        this.#followers.delete(follower);
        signal.removeEventListener('abort', follower);
        resolve();
      };
      this.#followers.add(follower);
      signal.addEventListener('abort', follower, { once: true });
    });
  }
}
