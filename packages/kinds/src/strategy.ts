import type { User } from '@capstan/api';
import type { FieldError, KubeObject } from '@capstan/machinery';
import type { ObjectReader } from './reader.ts';

/** What a strategy may know about the request it serves. */
export interface StrategyContext {
  readonly cluster: string;
  readonly user: User;
  readonly now: () => Date;
  readonly objects: ObjectReader;
  /** Shown to the client as a Warning header. */
  readonly warn: (message: string) => void;
}

/**
 * How one kind behaves beyond its schema. Everything is optional: a kind without a strategy is stored as its schema and schema defaults say.
 * The registry itself does names, metadata, generation, managed fields, deletion and unknown fields; a strategy says only what is the kind's own.
 *
 * Order on create: schema defaults, `default`, `prepareForCreate`, metadata validation, `validate`, `validateCreate`, `canonicalize`.
 * Order on update: schema defaults, `default`, `prepareForUpdate`, metadata validation, `validate`, `validateUpdate`, `canonicalize`.
 * An update through the status subresource calls those of `status` instead.
 */
export interface Strategy {
  /** What must hold for metadata.name; the messages of what does not. `dns1123Subdomain` when absent. */
  readonly validateName?: (name: string, isPrefix: boolean) => string[];
  /** Fills in what the client left out and the schema's own defaults do not say. Changes the object. Also runs on what is read from old clients. */
  readonly default?: (object: KubeObject) => void;
  /** Clears what clients may not set (status), sets what the server owns. Changes the object. */
  readonly prepareForCreate?: (object: KubeObject, context: StrategyContext) => void;
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject, context: StrategyContext) => void;
  readonly validate?: (object: KubeObject, context: StrategyContext) => FieldError[];
  /** Runs after `validate`, on create only: what new objects must hold to and older ones need not. */
  readonly validateCreate?: (object: KubeObject, context: StrategyContext) => FieldError[];
  /** Runs after `validate` passed or failed; only what compares old and new. */
  readonly validateUpdate?: (object: KubeObject, old: KubeObject, context: StrategyContext) => FieldError[];
  readonly canonicalize?: (object: KubeObject) => void;
  /** True: metadata.generation starts at 1 and rises when anything but metadata and status changes. */
  readonly generation?: boolean;
  /** PUT to a name that is not there creates it (leases, RBAC roles…). */
  readonly createOnUpdate?: boolean;
  /** PUT without a resourceVersion is refused: "metadata.resourceVersion: Invalid value: … must be specified for an update". */
  readonly requireResourceVersion?: boolean;
  /** Field selectors beyond metadata.name and metadata.namespace: label → value of this object. */
  readonly selectableFields?: (object: KubeObject) => Record<string, string>;
  /** The labels that `selectableFields` gives, so that others are refused before anything is read. */
  readonly selectableLabels?: readonly string[];
  /** For kinds with a grace period (pods): seconds to wait; undefined deletes at once. */
  readonly gracePeriodSeconds?: (object: KubeObject, requested: number | undefined) => number | undefined;
  /** Finalizers need not say whose they are: extensions and the kinds that they add. */
  readonly anyFinalizer?: boolean;
  /** Runs once, when an object is first marked as being deleted: finalizers of the kind's own, its status. No other finalizers are added then. */
  readonly beforeDeletion?: (object: KubeObject, context: StrategyContext) => void;
  /** DELETE answers with the object instead of a Status. */
  readonly returnDeletedObject?: boolean;
  /** Dependents when the client gives no propagation policy. `None`: there never are any, whatever the client says. */
  readonly defaultPropagation?: 'Background' | 'Foreground' | 'Orphan' | 'None';
  /** Told to whoever deletes without saying what becomes of dependents. */
  readonly deletionWarning?: string;
  /** The status subresource, where the table says that the kind has one. */
  readonly status?: Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateUpdate'>;
  /** Other subresources through which the object itself is changed: `approval` of certificate requests, `finalize` of namespaces. */
  readonly subresources?: Readonly<Record<string, Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateUpdate'>>>;
  /** Top-level parts that an update of the main resource (`main`) or of status (`status`) never owns in managedFields. `status` / `spec+metadata rest` by default. */
  readonly resetFields?: { readonly main?: readonly string[][]; readonly status?: readonly string[][] };
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  /** 0 is shown always, 1 with -o wide. */
  readonly priority?: number;
  readonly description?: string;
}

export interface TablePrinter {
  readonly columns: readonly Column[];
  /** One cell per column, in order. */
  readonly cells: (object: KubeObject, now: Date) => (string | number | boolean | null)[];
  /** What is true of the whole row: that a pod has ended, so that clients may show it otherwise. */
  readonly rowConditions?: (object: KubeObject) => readonly object[] | undefined;
}
