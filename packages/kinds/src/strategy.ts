import type { ClusterId, User } from '@capstan/api';
import type { FieldError, KubeObject, Parts } from '@capstan/machinery';
import type { ObjectReader } from './reader.ts';

/** The request that a strategy serves. */
export interface StrategyContext {
  readonly cluster: ClusterId;
  readonly user: User;
  readonly now: () => Date;
  readonly objects: ObjectReader;
  /** Sends a Warning header to the client. */
  readonly warn: (message: string) => void;
}

/**
 * The behavior of a kind beyond its schema. Everything is optional: a kind without a strategy is stored as its schema and schema defaults
 * say. The registry itself handles names, metadata, generation, managed fields, deletion and unknown fields; a strategy adds only what is
 * specific to the kind.
 *
 * Order on create: schema defaults, `default`, `prepareForCreate`, metadata validation, `validate`, `validateCreate`, `canonicalize`.
 * Order on update: schema defaults, `default`, `prepareForUpdate`, metadata validation, `validate`, `validateUpdate`, `canonicalize`.
 * An update of the status subresource calls the functions of `status` instead.
 */
export interface Strategy {
  /** Returns the problems of a metadata.name. Defaults to `dns1123Subdomain`. */
  readonly validateName?: (name: string, isPrefix: boolean) => string[];
  /** Sets defaults beyond those of the schema. Mutates the object. Also runs on objects from old clients. */
  readonly default?: (object: KubeObject) => void;
  /** Clears fields that clients may not set (status) and sets those the server owns. Mutates the object. */
  readonly prepareForCreate?: (object: KubeObject, context: StrategyContext) => void;
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject, context: StrategyContext) => void;
  readonly validate?: (object: KubeObject, context: StrategyContext) => FieldError[];
  /** In place of `validate`, for kinds whose objects may have tens of thousands of fields or long expressions: the same in parts. */
  readonly validateObjectInParts?: (object: KubeObject, context: StrategyContext) => Parts<FieldError[]>;
  /** Runs after `validate`, on create only: rules for new objects that existing ones may violate. */
  readonly validateCreate?: (object: KubeObject, context: StrategyContext) => FieldError[];
  /** Runs after `validate`, whether that passed or failed; only compares old and new. */
  readonly validateUpdate?: (object: KubeObject, old: KubeObject, context: StrategyContext) => FieldError[];
  /**
   * Runs last, and in parts, because it may take long: further errors, given those of `validateCreate` or `validateUpdate`. There is no old
   * object on create.
   */
  readonly validateInParts?: (change: ValidatedChange, context: StrategyContext) => Parts<FieldError[]>;
  readonly canonicalize?: (object: KubeObject) => void;
  /** If true, metadata.generation starts at 1 and is incremented when anything but metadata and status changes. */
  readonly generation?: boolean;
  /** PUT creates the object if it does not exist (leases, RBAC roles…). */
  readonly createOnUpdate?: boolean;
  /** PUT without a resourceVersion is rejected: "metadata.resourceVersion: Invalid value: … must be specified for an update". */
  readonly requireResourceVersion?: boolean;
  /** Field selectors beyond metadata.name and metadata.namespace: label → value for this object. */
  readonly selectableFields?: (object: KubeObject) => Record<string, string>;
  /** The labels that `selectableFields` returns, so that others are rejected before anything is read. */
  readonly selectableLabels?: readonly string[];
  /** For kinds with a grace period (pods): the seconds to wait; undefined deletes immediately. */
  readonly gracePeriodSeconds?: (object: KubeObject, requested: number | undefined) => number | undefined;
  /** Finalizers need no domain, as in extensions and custom kinds. */
  readonly anyFinalizer?: boolean;
  /**
   * Runs once, when an object is first marked as being deleted, to add the kind's finalizers and set its status. The server adds no other
   * finalizers then.
   */
  readonly beforeDeletion?: (object: KubeObject, context: StrategyContext) => void;
  /** DELETE responds with the object instead of a Status. */
  readonly returnDeletedObject?: boolean;
  /** How dependents are deleted if the client sets no propagation policy. `None`: never any dependents, whatever the client sets. */
  readonly defaultPropagation?: 'Background' | 'Foreground' | 'Orphan' | 'None';
  /** A warning for clients that delete without a propagation policy. */
  readonly deletionWarning?: string;
  /** The status subresource, if the resource table lists one. */
  readonly status?: Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateUpdate' | 'validateInParts'>;
  /** Other subresources that change the object itself: `approval` of certificate requests, `finalize` of namespaces. */
  readonly subresources?: Readonly<Record<string, Pick<Strategy, 'prepareForUpdate' | 'validate' | 'validateUpdate'>>>;
  /**
   * Top-level parts that an update of the main resource (`main`) or of status (`status`) never owns in managedFields. Defaults to `status`
   * and `spec`.
   */
  readonly resetFields?: { readonly main?: readonly string[][]; readonly status?: readonly string[][] };
}

/** An object that is about to be written, with the errors found in it so far. */
export interface ValidatedChange {
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
  readonly errors: readonly FieldError[];
}

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  /** 0 is always shown, 1 only with -o wide. */
  readonly priority?: number;
  readonly description?: string;
}

export interface TablePrinter {
  readonly columns: readonly Column[];
  /** One cell per column, in order. */
  readonly cells: (object: KubeObject, now: Date) => (string | number | boolean | null)[];
  /** Conditions of the whole row, such as that a pod has completed, so that clients may show it differently. */
  readonly rowConditions?: (object: KubeObject) => readonly object[] | undefined;
}
