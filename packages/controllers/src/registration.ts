import type { Runnable } from '@capstan/controller';

/** An authority that signs what clients ask for. */
export interface SigningSettings {
  /** PEM of its certificate and key, as they are now: they are renewed while the process runs. */
  readonly load: () => { readonly certificate: string; readonly key: string };
  /** Certificates are not valid for longer; a year when absent. */
  readonly maximumSeconds?: number;
}

/** What the process that runs the controllers knows. */
export interface ControllerSettings {
  /** PEM of the authority that signs for the API server; undefined when it is not known. */
  readonly authority: string | undefined;
  /** What certificates are signed with; undefined when this process signs none. */
  readonly signing: SigningSettings | undefined;
  /** How many objects this controller works on at the same time; its own choice when undefined. */
  readonly concurrency: number | undefined;
}

/** A controller that can be run. */
export interface Registration {
  /** As it is chosen by in the configuration: the name of what `make` makes. */
  readonly name: string;
  /** The service account in kube-system that it acts as: the rights of `system:controller:<account>` are all it has. */
  readonly account: string;
  /** Works for the root workspace alone: what it does counts everywhere, so no tenant may ask for it. Others work for all. */
  readonly rootOnly?: true;
  readonly make: (settings: ControllerSettings) => Runnable;
}

/** Those that a list such as `['*', '-garbage-collector']` names: `*` is all, a dash takes one away, whatever the order. */
export function chosenControllers(all: readonly Registration[], choice: readonly string[] = ['*']): Registration[] {
  const wanted = new Set(choice);
  return all.filter(({ name }) => !wanted.has(`-${name}`) && (wanted.has('*') || wanted.has(name)));
}
