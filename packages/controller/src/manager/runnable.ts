import type { Client, InformerFactory, ObjectKey } from '@capstan/client';
import type { Metrics } from '@capstan/machinery';
import type { EventRecorder } from '../events/recorder.ts';

/** The environment of a run. */
export interface ControllerContext {
  readonly informers: InformerFactory;
  /** Refuses to write once this process no longer leads. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  /** To be checked before each reconcile. */
  readonly isLeading: () => boolean;
  /** Ends the run; running reconciles may finish. */
  readonly signal: AbortSignal;
  /** Drops running reconciles. */
  readonly drop: AbortSignal;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

/** Something that a manager runs while its process leads: a controller, or anything with a loop of its own. */
export interface Runnable {
  /** Unique in its manager; appears in logs, events and metrics. */
  readonly name: string;
  /** Asks for the informers that it will use, so that they fill before the work starts. */
  prepare?(informers: InformerFactory): void;
  /** Works until the signal; resolves when everything has ended. Called again when this process leads again. */
  run(context: ControllerContext): Promise<void>;
}
