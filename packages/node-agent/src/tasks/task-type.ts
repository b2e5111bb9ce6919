import type { NodeTask, NodeTaskStatus, TaskError, TaskField, TaskParameters, TaskTypeName } from '@capstan/api';
import type { ProcessDriver } from '../processes/driver.ts';
import type { Reveal } from './secrets.ts';

/** An attempt of a task, as the agent received it. */
export interface TaskRequest {
  /** `metadata.uid` of the NodeTask. */
  readonly uid: string;
  readonly name: string;
  readonly attempt: number;
  /** That of the NodeTask, whose attempt nobody had begun then. */
  readonly resourceVersion?: string;
  readonly spec: NodeTask['spec'];
  /** The person who asked for it, as the API server recorded. */
  readonly requestedBy?: string;
}

/** How an attempt ended. */
export interface TaskOutcome {
  readonly phase: 'Succeeded' | 'Failed' | 'Cancelled' | 'Unknown';
  readonly finishedAt: string;
  readonly skipped?: boolean;
  readonly exitCode?: number;
  readonly error?: TaskError;
  readonly report?: NonNullable<NodeTaskStatus['report']>;
}

/** Everything that a task may use. */
export interface TaskContext {
  /** Unique to the attempt; valid as the id of a process. */
  readonly id: string;
  /** Aborted by the deadline or by cancellation. The reason is a `TaskFailure`. */
  readonly signal: AbortSignal;
  readonly processes: ProcessDriver;
  /** Reports what the task does now. */
  readonly step: (text: string) => void;
  /** Appends to the output of the task. */
  readonly print: (text: string) => void;
  /** Tells where the output of the task is, if a process writes it. */
  readonly outputIn: (file: string) => void;
  /** Replaces placeholders for secrets. Call it just before the text is used: the result must not be stored or reported. */
  readonly reveal: Reveal;
}

export interface TaskResult {
  readonly exitCode?: number;
  readonly report?: NonNullable<NodeTaskStatus['report']>;
}

/** A type of task. Each is one file in `types/`, and passes the table in `types.test.ts`. */
export interface TaskType<F extends TaskField = TaskField> {
  readonly name: TaskTypeName;
  readonly field: F;
  /**
   * After a crash of the agent: `resume` calls `run` again, which finds its process by `context.id`; `rerun` is for work that may safely be done twice; `ask`
   * ends the task as `Unknown`, and a person decides.
   */
  readonly afterCrash: 'resume' | 'rerun' | 'ask';
  /** Tasks with the same word run one after the other. */
  readonly exclusive?: string;
  /** Whether a place is kept for it, so that it does not wait until long tasks have ended. One task at a time has it. */
  readonly hasOwnPlace?: boolean;
  /** Whether there is nothing to do. Must not change anything. Not waited for once the time of the task is over. */
  check(parameters: TaskParameters<F>, context: TaskContext): Promise<boolean>;
  run(parameters: TaskParameters<F>, context: TaskContext): Promise<TaskResult>;
}

/** Keeps the type of the parameters that belong to the field. */
export function taskType<F extends TaskField>(type: TaskType<F>): TaskType {
  return type as unknown as TaskType;
}
