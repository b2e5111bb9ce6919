/** A place that receives every audit event, beside the file. */
export interface AuditSink extends AsyncDisposable {
  readonly name: string;
  /** Takes one event, a line of JSON that ends with a line break. Never throws and never waits. */
  write(line: string): void;
  /** The number of events lost because the place did not take them in time. */
  readonly dropped: number;
}

/** Reports the first failure of a series to people; the counter of dropped events has the rest. */
export class FailureReport {
  readonly #onError: (error: Error) => void;
  #isFailing = false;

  constructor(onError: (error: Error) => void) {
    this.#onError = onError;
  }

  failed(error: Error): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#onError(error);
  }

  worked(): void {
    this.#isFailing = false;
  }
}
