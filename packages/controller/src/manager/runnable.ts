import type { Client, InformerFactory, ObjectKey, Tracer } from '@capstan/client';
import type { Metrics } from '@capstan/machinery';
import type { EventRecorder } from '../events/recorder.ts';

/** The environment of a run. */
export interface ControllerContext {
  /** Shared with others that use the same client. `synced` waits only for those that this runnable asked for. */
  readonly informers: InformerFactory;
  /** Refuses to write once this process no longer leads. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
  /** To be checked before each reconcile. */
  readonly isLeading: () => boolean;
  /** Ends the run; running reconciles may finish. */
  readonly signal: AbortSignal;
  /** Drops running reconciles. */
  readonly drop: AbortSignal;
  readonly onError: (error: unknown, key: ObjectKey) => void;
  /**
   * The same environment at another endpoint, or as another user; it reports under another name if one is given. Disposing of it ends its informers,
   * unless others use them.
   */
  readonly at: (client: Client, name?: string) => Elsewhere;
  readonly log: (line: string) => void;
}

export type Elsewhere = ControllerContext & AsyncDisposable;

/** Something that a manager runs while its process leads: a controller, or anything with a loop of its own. */
export interface Runnable {
  /** Unique in its manager; appears in logs, events and metrics. */
  readonly name: string;
  /** Asks for the informers that it will use, so that they fill before the work starts; `at` returns those of other endpoints. */
  prepare?(informers: InformerFactory, at: (client: Client) => InformerFactory): void;
  /**
   * Works until the signal; resolves when everything has ended. Called again when this process leads again, and after a failure. With several endpoints
   * it is called once for each of them at the same time.
   */
  run(context: ControllerContext): Promise<void>;
}
