import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isObject, type JsonObject, parseYaml } from '@capstan/machinery';
import { dump } from 'js-yaml';
import { Failure } from '../failure.ts';

/** The contexts of the current and the previous workspace. kcp's plugin uses the same names, so that both tools can be mixed. */
const currentName = 'workspace.kcp.io/current';
const previousName = 'workspace.kcp.io/previous';

interface Named extends JsonObject {
  name: string;
}

/** A kubeconfig that is changed in place. */
export class KubeconfigFile {
  readonly path: string;
  readonly #content: JsonObject;

  private constructor(path: string, content: JsonObject) {
    this.path = path;
    this.#content = content;
  }

  /** The named one, else the first that kubectl would use. */
  static read(named: string | undefined): KubeconfigFile {
    const path = named ?? process.env['KUBECONFIG']?.split(delimiter).find(Boolean) ?? join(homedir(), '.kube', 'config');
    if (!existsSync(path)) throw new Failure('usage', `${path} does not exist. Name a kubeconfig with --kubeconfig or in KUBECONFIG.`);
    const content = parseYaml(readFileSync(path, 'utf8'));
    if (!isObject(content)) throw new Failure('usage', `${path}: expected a kubeconfig, found something that is not a mapping.`);
    return new KubeconfigFile(path, content as JsonObject);
  }

  /** The server of the current context. */
  get server(): string {
    return textOf(this.#cluster(this.#contextNamed(this.#current))['server']);
  }

  /** The server of the context before the last change. */
  get previousServer(): string | undefined {
    const found = this.#list('contexts').find(({ name }) => name === previousName);
    return found && textOf(this.#cluster(found)['server']);
  }

  /** Switches to another server as the same user, and remembers the previous one. */
  use(server: string): void {
    const context = this.#contextNamed(this.#current);
    const cluster = this.#cluster(context);
    this.#put('clusters', { name: previousName, cluster: { ...cluster } });
    this.#put('contexts', { name: previousName, context: { ...fields(context.context), cluster: previousName } });
    this.#put('clusters', { name: currentName, cluster: { ...cluster, server } });
    this.#put('contexts', { name: currentName, context: { ...fields(context.context), cluster: currentName } });
    this.#content['current-context'] = currentName;
    const temporary = `${this.path}.new`;
    writeFileSync(temporary, dump(this.#content, { lineWidth: -1 }), { mode: 0o600 });
    renameSync(temporary, this.path);
  }

  get #current(): string {
    return textOf(this.#content['current-context']);
  }

  #list(part: 'clusters' | 'contexts'): Named[] {
    const list = this.#content[part];
    return Array.isArray(list) ? (list as Named[]) : [];
  }

  #contextNamed(name: string): Named {
    const found = this.#list('contexts').find((one) => one.name === name);
    if (found === undefined)
      throw new Failure('usage', `${this.path} has no context "${name}". Choose one with "kubectl config use-context".`);
    return found;
  }

  #cluster(context: Named): JsonObject {
    const name = textOf(fields(context['context'])['cluster']);
    const found = this.#list('clusters').find((one) => one.name === name);
    if (found === undefined) throw new Failure('usage', `${this.path} has no cluster "${name}", which a context refers to.`);
    return fields(found['cluster']);
  }

  #put(part: 'clusters' | 'contexts', entry: Named): void {
    this.#content[part] = [...this.#list(part).filter(({ name }) => name !== entry.name), entry];
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function fields(value: unknown): JsonObject {
  return isObject(value) ? (value as JsonObject) : {};
}
