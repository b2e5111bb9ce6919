import type { Runnable } from '@capstan/controller';

/** A certificate authority that signs the requests of clients. */
export interface SigningSettings {
  /** PEM of its current certificate and key. They are renewed while the process runs. */
  readonly load: () => { readonly certificate: string; readonly key: string };
  /** The longest validity of a certificate; a year by default. */
  readonly maximumSeconds?: number;
}

/** The settings of the process that runs the controllers. */
export interface ControllerSettings {
  /** PEM of the authority that signs for the API server; undefined if it is not known. */
  readonly authority: string | undefined;
  /** The authority that certificates are signed with; undefined if this process signs none. */
  readonly signing: SigningSettings | undefined;
  /** How many objects the controller works on at the same time; undefined for its own default. */
  readonly concurrency: number | undefined;
}

/** A controller that the controller-manager can run. Every controller's folder exports one from `registration.ts`; `index.ts` lists them all. */
export interface Registration {
  /** The name in the configuration, which is also the name of the controller that `make` returns. */
  readonly name: string;
  /**
   * The service account in kube-system that the controller acts as. Its rights are the rules of the ClusterRole `system:controller:<account>`, which the API
   * server creates: see `controller-roles.ts` and `own-roles.ts` in `packages/apiserver/src/bootstrap`.
   */
  readonly account: string;
  /** `root` for controllers whose effect is not limited to one workspace, so that tenants must not be able to ask for it. */
  readonly workspaces: 'root' | 'all';
  /** Resources with their API group, as `deployments.apps`, of which it keeps local copies. A test compares them with the informers that it asks for. */
  readonly watches: readonly string[];
  readonly make: (settings: ControllerSettings) => Runnable;
}

/** The controllers chosen by a list such as `['*', '-garbage-collector']`: `*` stands for all, and a dash excludes one. The order does not matter. */
export function chosenControllers(all: readonly Registration[], choice: readonly string[] = ['*']): Registration[] {
  const wanted = new Set(choice);
  return all.filter(({ name }) => !wanted.has(`-${name}`) && (wanted.has('*') || wanted.has(name)));
}
