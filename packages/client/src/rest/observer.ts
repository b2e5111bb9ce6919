/** A request that was answered, or failed. */
export interface ObservedRequest {
  readonly method: string;
  /** Of the answer; undefined if none arrived. */
  readonly code: number | undefined;
  /** From sending it to the head of the answer. */
  readonly milliseconds: number;
}

/** Called after each request, also after each attempt that is repeated. */
export type RequestObserver = (request: ObservedRequest) => void;
