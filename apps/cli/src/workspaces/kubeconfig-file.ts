import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { isObject, type JsonObject, parseYaml } from '@capstan/machinery';
import { dump } from 'js-yaml';
import { Failure } from '../failure.ts';

/** The contexts of the current and the previous workspace. kcp's plugin uses the same names, so that both tools can be mixed. */
const currentName = 'workspace.kcp.io/current';
const previousName = 'workspace.kcp.io/previous';

type Part = 'clusters' | 'contexts' | 'users';

interface Named extends JsonObject {
  name: string;
}

/** A context, as people see it. */
export interface ContextEntry {
  readonly name: string;
  readonly server: string;
  readonly user: string;
  readonly namespace: string;
}

/** A kubeconfig that is changed in place. */
export class KubeconfigFile {
  readonly path: string;
  readonly #content: JsonObject;

  private constructor(path: string, content: JsonObject) {
    this.path = path;
    this.#content = content;
  }

  /** The named one, else the first that kubectl would use. It need not exist. */
  static open(named: string | undefined): KubeconfigFile {
    const path = pathOf(named);
    return existsSync(path) ? KubeconfigFile.read(path) : new KubeconfigFile(path, { apiVersion: 'v1', kind: 'Config' });
  }

  /** The same, which must exist. */
  static read(named: string | undefined): KubeconfigFile {
    const path = pathOf(named);
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
    this.#write();
  }

  get currentContext(): string {
    return this.#current;
  }

  get contexts(): readonly ContextEntry[] {
    return this.#list('contexts').map((entry) => {
      const { cluster, user, namespace } = fields(entry['context']);
      const server = fields(this.#list('clusters').find(({ name }) => name === cluster)?.['cluster'])['server'];
      return { name: entry.name, server: textOf(server), user: textOf(user), namespace: textOf(namespace) };
    });
  }

  /** The settings of a user, which hold credentials. */
  userOf(context: string): JsonObject {
    const user = fields(this.#contextNamed(context)['context'])['user'];
    return fields(this.#list('users').find(({ name }) => name === user)?.['user']);
  }

  /** The settings of the cluster of a context. */
  clusterOf(context: string): JsonObject {
    return this.#cluster(this.#contextNamed(context));
  }

  /** Adds a cluster and a context for it, with the user of another context. The current one stays. */
  addCluster(name: string, { context, cluster }: { readonly context: string; readonly cluster: JsonObject }): void {
    const user = textOf(fields(this.#contextNamed(context)['context'])['user']);
    this.#put('clusters', { name, cluster });
    this.#put('contexts', { name, context: { cluster: name, user } });
    this.#write();
  }

  /** Adds a context with a cluster and a user of the same name, or replaces them, and makes it the current one. */
  putContext(name: string, { cluster, user }: { readonly cluster: JsonObject; readonly user: JsonObject }): void {
    this.#put('clusters', { name, cluster });
    this.#put('users', { name, user });
    this.#put('contexts', { name, context: { cluster: name, user: name } });
    this.#content['current-context'] = name;
    this.#write();
  }

  useContext(name: string): void {
    this.#contextNamed(name);
    this.#content['current-context'] = name;
    this.#write();
  }

  /** Replaces the credentials of a context's user. */
  putUser(context: string, user: JsonObject): void {
    const name = textOf(fields(this.#contextNamed(context)['context'])['user']);
    this.#put('users', { name, user });
    this.#write();
  }

  /** Removes a context, and its cluster and user unless another context uses them. */
  deleteContext(name: string): void {
    const { cluster, user } = fields(this.#contextNamed(name)['context']);
    this.#remove('contexts', name);
    const others = this.#list('contexts').map((entry) => fields(entry['context']));
    if (others.every((other) => other['cluster'] !== cluster)) this.#remove('clusters', textOf(cluster));
    if (others.every((other) => other['user'] !== user)) this.#remove('users', textOf(user));
    if (this.#current === name) this.#content['current-context'] = '';
    this.#write();
  }

  #write(): void {
    const temporary = `${this.path}.new`;
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    writeFileSync(temporary, dump(this.#content, { lineWidth: -1 }), { mode: 0o600 });
    renameSync(temporary, this.path);
  }

  get #current(): string {
    return textOf(this.#content['current-context']);
  }

  #remove(part: Part, removed: string): void {
    this.#content[part] = this.#list(part).filter(({ name }) => name !== removed);
  }

  #list(part: Part): Named[] {
    const list = this.#content[part];
    return Array.isArray(list) ? (list as Named[]) : [];
  }

  #contextNamed(name: string): Named {
    const found = this.#list('contexts').find((one) => one.name === name);
    if (found === undefined) throw new Failure('usage', `${this.path} has no context "${name}". Choose one with "capstan context use".`);
    return found;
  }

  #cluster(context: Named): JsonObject {
    const name = textOf(fields(context['context'])['cluster']);
    const found = this.#list('clusters').find((one) => one.name === name);
    if (found === undefined) throw new Failure('usage', `${this.path} has no cluster "${name}", which a context refers to.`);
    return fields(found['cluster']);
  }

  #put(part: Part, entry: Named): void {
    this.#content[part] = [...this.#list(part).filter(({ name }) => name !== entry.name), entry];
  }
}

function pathOf(named: string | undefined): string {
  return named ?? process.env['KUBECONFIG']?.split(delimiter).find(Boolean) ?? join(homedir(), '.kube', 'config');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function fields(value: unknown): JsonObject {
  return isObject(value) ? (value as JsonObject) : {};
}
