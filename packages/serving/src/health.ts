import type { Transport } from '@capstan/client';

/** In milliseconds. */
const validFor = 1_000;
const patience = 3_000;

/** Whether the API server can be reached. It is asked at most once a second, whoever asks here. */
export class UpstreamHealth {
  readonly #transport: Transport;
  #asked = Number.NEGATIVE_INFINITY;
  #answer: Promise<string | undefined> = Promise.resolve(undefined);

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Why the API server is not ready; undefined if it is. */
  problem(): Promise<string | undefined> {
    const now = performance.now();
    if (now - this.#asked < validFor) return this.#answer;
    this.#asked = now;
    this.#answer = this.#ask();
    return this.#answer;
  }

  async #ask(): Promise<string | undefined> {
    try {
      const answer = await this.#transport.send({ method: 'GET', path: '/readyz', timeouts: { connect: patience, response: patience } });
      await answer.read(patience, () => {});
      return answer.code === 200 ? undefined : `the API server is not ready: it answered ${answer.code}`;
    } catch {
      return 'the API server cannot be reached';
    }
  }
}
