import type { Client, InformerFactory, ObjectKey } from '@capstan/client';
import type { Metrics } from '@capstan/machinery';
import type { EventRecorder } from '../events/recorder.ts';

/** What a run is made in. */
export interface ControllerContext {
  readonly informers: InformerFactory;
  /** Its writes are refused once this process does not lead any more. */
  readonly client: Client;
  readonly events: EventRecorder;
  readonly metrics: Metrics;
  /** Asked before each reconcile begins. */
  readonly isLeading: () => boolean;
  /** Ends the run: what is under way may finish. */
  readonly signal: AbortSignal;
  /** Drops what is under way. */
  readonly drop: AbortSignal;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

/** Something that a manager runs while its process leads. Controllers are; so is anything that needs a loop of its own. */
export interface Runnable {
  /** Stands in logs, events and metrics; each has its own. */
  readonly name: string;
  /** Asks for the informers that it will use, so that they can fill before the work begins. */
  prepare?(informers: InformerFactory): void;
  /** Works until the signal; resolves when all has ended. May be called again when this process leads again. */
  run(context: ControllerContext): Promise<void>;
}
