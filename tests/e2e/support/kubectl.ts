import { Child, type CommandResult, run } from '@capstan/testbed';
import type { TargetGetter } from './target.ts';

export interface KubectlOptions {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs kubectl in the test's namespace. */
export class Kubectl {
  readonly #path: string;
  readonly #target: TargetGetter;
  #made = false;

  constructor(path: string, target: TargetGetter) {
    this.#path = path;
    this.#target = target;
  }

  get namespace(): string {
    return this.#target().namespace;
  }

  async makeNamespace(): Promise<void> {
    await this.run('create', 'namespace', this.namespace);
    this.#made = true;
  }

  async dropNamespace(): Promise<void> {
    if (this.#made) await this.call(['delete', 'namespace', this.namespace, '--wait=false', '--ignore-not-found']);
  }

  /** Standard output of a call that must succeed. */
  run(...args: string[]): Promise<string> {
    return this.give({}, ...args);
  }

  async give(options: KubectlOptions, ...args: string[]): Promise<string> {
    const result = await this.call(args, options);
    if (result.code !== 0) throw new Error(`kubectl ${args.join(' ')} exited with ${result.code}: ${result.stderr}${result.stdout}`);
    return result.stdout.trimEnd();
  }

  async json<T>(...args: string[]): Promise<T> {
    return JSON.parse(await this.run(...args, '-o', 'json')) as T;
  }

  apply(object: unknown, ...args: string[]): Promise<string> {
    return this.give({ input: JSON.stringify(object) }, 'apply', '-f', '-', ...args);
  }

  create(object: unknown, ...args: string[]): Promise<string> {
    return this.give({ input: JSON.stringify(object) }, 'create', '-f', '-', ...args);
  }

  /** Standard error of a call that must fail. */
  async refused(...args: string[]): Promise<string> {
    return this.refusedWith({}, ...args);
  }

  async refusedWith(options: KubectlOptions, ...args: string[]): Promise<string> {
    const result = await this.call(args, options);
    if (result.code === 0) throw new Error(`kubectl ${args.join(' ')} was expected to fail, but printed: ${result.stdout}`);
    return result.stderr.trimEnd();
  }

  call(args: readonly string[], options: KubectlOptions = {}): Promise<CommandResult> {
    return run(this.#path, [...this.#common, ...args], {
      timeout: 60_000,
      ...(options.input === undefined ? {} : { input: options.input }),
      environment: { ...this.#environment, ...options.environment },
    });
  }

  /** A long-running kubectl: watch, proxy. */
  start(...args: string[]): Child {
    return this.startWith({}, ...args);
  }

  startWith({ environment }: Pick<KubectlOptions, 'environment'>, ...args: string[]): Child {
    return new Child(`kubectl ${args[0]}`, [this.#path, ...this.#common, ...args], {
      environment: { ...this.#environment, ...environment },
    });
  }

  get #common(): string[] {
    return ['--kubeconfig', this.#target().kubeconfig, '--namespace', this.namespace];
  }

  get #environment(): Record<string, string> {
    return { HOME: this.#target().home.path };
  }
}
