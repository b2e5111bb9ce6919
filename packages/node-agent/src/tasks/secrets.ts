import { isUtf8 } from 'node:buffer';
import { nodeNamespace, taskSecretLabel } from '@capstan/api';
import { type Client, isNotFound } from '@capstan/client';
import type { KubeObject } from '@capstan/machinery';
import { TaskFailure } from './failure.ts';

/** The values of a Secret, by their keys. */
export type SecretValues = Readonly<Record<string, string>>;

/** The Secrets that tasks name. */
export interface TaskSecrets {
  /** Rejects with a `TaskFailure` if there is no such Secret for tasks. */
  read(name: string, signal: AbortSignal): Promise<SecretValues>;
}

/** Text in the parameters of a task, alone or in a list or a map. */
export type TaskText = string | readonly string[] | Readonly<Record<string, string>> | undefined;

/** Replaces `${secret:key}` in the text of a task by the value of its Secret. Only the agent's memory has the result. */
export type Reveal = <T extends TaskText>(text: T) => Promise<T>;

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const secretKind = { group: '', version: 'v1', resource: 'secrets', namespaced: true, kind: 'Secret' };

/** The Secrets in the namespace of this node. */
export class StoredSecrets implements TaskSecrets {
  readonly #client: Client;
  readonly #node: string;

  /** `client` is that of root:platform. */
  constructor({ client, node }: { readonly client: Client; readonly node: string }) {
    this.#client = client;
    this.#node = node;
  }

  async read(name: string, signal: AbortSignal): Promise<SecretValues> {
    const { metadata, data = {} } = await this.#get(name, signal);
    if (metadata.labels?.[taskSecretLabel] === undefined)
      throw new TaskFailure('InvalidParameters', `the Secret ${name} is not for tasks: it has no label ${taskSecretLabel}`);
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, textOf(Buffer.from(value, 'base64'), { name, key })]));
  }

  async #get(name: string, signal: AbortSignal): Promise<Secret> {
    try {
      return await this.#client.resource<Secret>(secretKind).in(nodeNamespace(this.#node)).get(name, { signal });
    } catch (error) {
      if (isNotFound(error)) throw new TaskFailure('UnknownSecret', `the namespace of this node has no Secret ${name}`, { cause: error });
      throw error;
    }
  }
}

/** Returns a function that replaces placeholders by the values of the Secret, which is read once, when it is needed. */
export function revealing(name: string | undefined, read: () => Promise<SecretValues>): Reveal {
  if (name === undefined) return async (text) => text;
  let values: Promise<SecretValues> | undefined;
  return async <T extends TaskText>(text: T): Promise<T> => {
    if (text === undefined || !hasPlaceholders(text)) return text;
    values ??= read();
    return replaceIn(text, name, await values) as T;
  };
}

function hasPlaceholders(text: Exclude<TaskText, undefined>): boolean {
  return (typeof text === 'string' ? [text] : Object.values(text)).some((one) => one.includes('${'));
}

function replaceIn(text: Exclude<TaskText, undefined>, name: string, values: SecretValues): TaskText {
  const replace = (one: string): string => replaceSecrets(one, name, values);
  if (typeof text === 'string') return replace(text);
  if (Array.isArray(text)) return text.map(replace);
  return Object.fromEntries(Object.entries(text).map(([key, value]) => [key, replace(value)]));
}

/** `${secret:key}` becomes the value, and `$${` becomes `${`. Values are not looked at again. */
export function replaceSecrets(text: string, name: string, values: SecretValues): string {
  return text.replace(/\$\$\{|\$\{secret:([A-Za-z0-9._-]+)\}/g, (_match, key: string | undefined) => {
    if (key === undefined) return '${';
    if (!Object.hasOwn(values, key)) throw new TaskFailure('InvalidParameters', `the Secret ${name} has no key ${key}`);
    return values[key]!;
  });
}

function textOf(bytes: Buffer, { name, key }: { readonly name: string; readonly key: string }): string {
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new TaskFailure('InvalidParameters', `the value of ${key} in the Secret ${name} is not text`);
  return bytes.toString('utf8');
}
