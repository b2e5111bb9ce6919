import { resolve } from 'node:path';
import { type CommandResult, run } from '@capstan/testbed';

export const chart = resolve(import.meta.dirname, '../../../deploy/helm/capstan');

/** Values in the syntax of Helm's command line: `name=value`. */
export type Values = readonly string[];

/** A Helm that contacts no server. */
export class OfflineHelm {
  readonly #path: string;
  readonly #home: string;

  constructor(path: string, home: string) {
    this.#path = path;
    this.#home = home;
  }

  call(...args: string[]): Promise<CommandResult> {
    return run(this.#path, args, { environment: { HOME: this.#home } });
  }

  template(values: Values, ...args: string[]): Promise<CommandResult> {
    const set = values.flatMap((value) => ['--set', value]);
    return this.call('template', 'demo', chart, '--namespace', 'default', '--kube-version', '1.34.0', ...set, ...args);
  }
}
