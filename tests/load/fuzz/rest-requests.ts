import { isObject, type Json, type JsonObject } from '@capstan/machinery';
import type { Random } from './random.ts';
import { nameOf, type RequestSource } from './request-source.ts';
import type { FuzzedRequest } from './requests.ts';
import { fitting } from './schema-values.ts';
import { anyText, mutated } from './values.ts';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Json }[];
  readonly body: { readonly type: string; readonly schema: Json | undefined } | undefined;
}

/** Requests for the operations of the REST API, as its own document describes them. */
export class RestRequests implements RequestSource {
  readonly #random: Random;
  readonly #operations: readonly Operation[];
  readonly #schemas: JsonObject;
  readonly #cluster: string;

  constructor(random: Random, { cluster, document }: { readonly cluster: string; readonly document: JsonObject }) {
    this.#random = random;
    this.#cluster = cluster;
    this.#schemas = (document['components'] as { schemas: JsonObject }).schemas;
    this.#operations = Object.entries(document['paths'] as JsonObject).flatMap(([path, methods]) =>
      Object.entries(methods as JsonObject).map(([method, operation]) => operationOf(path, method, operation as JsonObject)),
    );
  }

  next(): FuzzedRequest {
    const random = this.#random;
    const { method, path, parameters, body } = random.pick(this.#operations);
    const place = random.chance(0.9) ? `/clusters/${this.#cluster}` : random.chance(0.5) ? '' : '/clusters/root:other';
    const target = path.replace(/\{\w+\}/g, () => encodeURIComponent(random.chance(0.9) ? nameOf(random) : anyText(random).toWellFormed()));
    const query = parameters
      .filter((one) => one.in === 'query' && random.chance(0.3))
      .map(({ name, schema }) => `${name}=${this.#parameter(schema)}`)
      .join('&');
    const headers: Record<string, string> = {};
    if (random.chance(0.3)) headers['idempotency-key'] = random.pick(['a', 'b', 'c', 'x'.repeat(random.length(400)), '']);
    if (random.chance(0.1)) headers['if-match'] = random.pick(['"1"', '*', 'x', '""']);
    if (random.chance(0.1)) headers['last-event-id'] = random.pick(['0', '1', 'x', '99999999999999999999']);
    if (body !== undefined) headers['content-type'] = random.chance(0.95) ? body.type : 'text/plain';
    const text = body && JSON.stringify(fitting(random, body.schema, this.#find));
    return {
      label: `rest:${method} ${path}`,
      method: random.chance(0.02) ? random.pick(['PUT', 'HEAD', 'OPTIONS', 'TRACE']) : method,
      path: `${place}${target}${query === '' ? '' : `?${query}`}`,
      headers,
      ...(text !== undefined && { body: random.chance(0.05) ? mutated(random, text) : text }),
    };
  }

  #parameter(schema: Json): string {
    const value = fitting(this.#random, schema, this.#find);
    return encodeURIComponent((typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed());
  }

  readonly #find = (reference: string): Json | undefined => this.#schemas[reference.replace('#/components/schemas/', '')];
}

function operationOf(path: string, method: string, { parameters = [], requestBody }: JsonObject): Operation {
  const [content] = isObject(requestBody) ? Object.entries(requestBody['content'] as JsonObject) : [];
  return {
    method: method.toUpperCase(),
    path,
    parameters: parameters as never,
    body: content && { type: content[0], schema: (content[1] as JsonObject)['schema'] },
  };
}
