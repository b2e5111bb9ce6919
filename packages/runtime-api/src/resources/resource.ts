import type { KindDefinition } from '@capstan/api';
import type { JsonObject } from '@capstan/machinery';

export type Verb = 'list' | 'get' | 'create' | 'replace' | 'patch' | 'delete';

/** A change with a name of its own, `POST /<path>/{id}/<name>`. */
export interface Action {
  readonly name: string;
  readonly summary: string;
  /** Merged into the spec; a function of the current spec if that matters. */
  readonly spec: JsonObject | ((spec: JsonObject) => JsonObject);
}

/** A kind that the REST API offers. One entry in the table is all that a new one needs. */
export interface RestResource {
  /** Below `/api/v1`: `gpu-units`. */
  readonly path: string;
  readonly kind: KindDefinition;
  /** One of them, in operation ids and names of types: `GpuUnit`. */
  readonly singular: string;
  readonly plural: string;
  /** `caller`: in the workspace of the request. `platform`: always in root:platform. */
  readonly place: 'caller' | 'platform';
  readonly verbs: readonly Verb[];
  /** Of names that are chosen by the server. */
  readonly namePrefix: string;
  /** Values of `phase`, by which lists can be filtered. */
  readonly phases?: readonly string[];
  readonly actions?: readonly Action[];
  /** Whether a Pod of the same name has its output. */
  readonly hasLogs?: boolean;
}
