/** A task that wants to run. */
export interface Applicant {
  readonly name: string;
  /** Tasks with the same word run one after the other. */
  readonly exclusive?: string | undefined;
  /** Whether it may take the place that is kept for tasks that must not wait for others. */
  readonly hasOwnPlace?: boolean | undefined;
}

interface Waiting {
  /** Takes a place if there is one, or gives up. */
  readonly attempt: () => boolean;
  readonly explain: () => void;
}

interface Running extends Applicant {
  readonly place: 'shared' | 'own';
}

/** Limits how many tasks run at once, and lets those that exclude each other run one after the other. One more place is kept for tasks that must not wait for others. */
export class Places {
  readonly #waiting: Waiting[] = [];
  readonly #running = new Set<Running>();
  readonly #count: number;

  constructor(count: number) {
    this.#count = count;
  }

  /** Waits for a place, and for the end of tasks with the same word. Tells what it waits for whenever that changes. Rejects if the signal aborts first. */
  async take(applicant: Applicant, signal: AbortSignal, onWait: (why: string) => void): Promise<Disposable> {
    const running = this.#admit(applicant) ?? (await this.#turn(applicant, signal, onWait));
    return {
      [Symbol.dispose]: () => {
        this.#running.delete(running);
        for (let index = 0; index < this.#waiting.length; ) {
          if (this.#waiting[index]!.attempt()) this.#waiting.splice(index, 1);
          else index++;
        }
        for (const { explain } of this.#waiting) explain();
      },
    };
  }

  #admit(applicant: Applicant): Running | undefined {
    const place = this.#excluding(applicant) === undefined ? this.#freePlace(applicant) : undefined;
    if (place === undefined) return undefined;
    const running = { ...applicant, place };
    this.#running.add(running);
    return running;
  }

  #freePlace({ hasOwnPlace }: Applicant): Running['place'] | undefined {
    const shared = this.#sharing();
    if (hasOwnPlace === true && shared.length === this.#running.size) return 'own';
    return shared.length < this.#count ? 'shared' : undefined;
  }

  #sharing(): Running[] {
    return [...this.#running].filter(({ place }) => place === 'shared');
  }

  #excluding({ exclusive }: Applicant): Running | undefined {
    return exclusive === undefined ? undefined : this.#running.values().find((one) => one.exclusive === exclusive);
  }

  #obstacle(applicant: Applicant): string {
    const excluding = this.#excluding(applicant);
    if (excluding !== undefined) return `waiting for the task ${excluding.name}: both need the ${applicant.exclusive} of the node`;
    const names = (applicant.hasOwnPlace === true ? [...this.#running] : this.#sharing()).map(({ name }) => name);
    return names.length === 1 ? `waiting for the task ${names[0]}` : `waiting for one of the tasks ${names.join(', ')}`;
  }

  #turn(applicant: Applicant, signal: AbortSignal, onWait: (why: string) => void): Promise<Running> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(signal.reason);
      if (signal.aborted) return giveUp();
      signal.addEventListener('abort', giveUp, { once: true });
      let told = '';
      const explain = (): void => {
        const why = this.#obstacle(applicant);
        if (why !== told) onWait((told = why));
      };
      const attempt = (): boolean => {
        const running = signal.aborted ? undefined : this.#admit(applicant);
        if (running === undefined) return signal.aborted;
        signal.removeEventListener('abort', giveUp);
        resolve(running);
        return true;
      };
      this.#waiting.push({ attempt, explain });
      explain();
    });
  }
}
