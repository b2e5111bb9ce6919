import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A field of a Go struct, as far as JSON and protobuf are concerned. */
export interface GoField {
  /** Empty if the struct is embedded and its fields belong to the parent. */
  readonly jsonName: string;
  readonly goType: string;
  readonly omitEmpty: boolean;
  readonly omitZero: boolean;
  readonly protoNumber: number | undefined;
}

export type GoDeclaration =
  | { readonly kind: 'struct'; readonly fields: readonly GoField[] }
  | { readonly kind: 'named'; readonly underlying: string }
  /** An alias for a type of another package. */
  | { readonly kind: 'alias'; readonly target: string };

export interface GoPackage {
  readonly path: string;
  /** The last segment of the path: the package's name in Go's messages. */
  readonly name: string;
  readonly declarations: ReadonlyMap<string, GoDeclaration>;
  /** Maps import alias to package path, over all files. Within a package, Kubernetes always uses the same alias for the same import. */
  readonly imports: ReadonlyMap<string, string>;
  /** The messages of generated.proto, with the field numbers of each. */
  readonly messages: ReadonlyMap<string, ReadonlySet<number>>;
}

/** Reads the struct declarations of Kubernetes' API packages: names, types and tags only, no prose. */
export class GoSources {
  readonly #root: string;
  readonly #version: string;
  readonly #packages = new Map<string, GoPackage>();

  constructor(root: string, version: string) {
    this.#root = root;
    this.#version = version;
  }

  package(path: string): GoPackage {
    let found = this.#packages.get(path);
    if (found === undefined) this.#packages.set(path, (found = this.#read(path)));
    return found;
  }

  #read(path: string): GoPackage {
    const [, module, ...rest] = path.split('/');
    const versioned = join(this.#root, `${module}@${this.#version}`, ...rest);
    const folder = existsSync(versioned) ? versioned : join(this.#root, module!, ...rest);
    const declarations = new Map<string, GoDeclaration>();
    const imports = new Map<string, string>();
    for (const file of readdirSync(folder)) {
      if (!file.endsWith('.go') || file.endsWith('_test.go') || file.startsWith('zz_') || file.includes('.pb')) continue;
      const text = readFileSync(join(folder, file), 'utf8');
      readImports(text, imports);
      readDeclarations(text, declarations);
    }
    const proto = join(folder, 'generated.proto');
    const messages = existsSync(proto) ? readMessages(readFileSync(proto, 'utf8')) : new Map<string, Set<number>>();
    return { path, name: rest.at(-1) ?? module!, declarations, imports, messages };
  }
}

function readImports(text: string, into: Map<string, string>): void {
  for (const [, alias, path] of text.matchAll(/^\s*(?:import\s+)?(\w+)?\s*"(k8s\.io\/[^"]+)"$/gm)) {
    into.set(alias ?? path!.split('/').at(-1)!, path!);
  }
}

function readDeclarations(text: string, into: Map<string, GoDeclaration>): void {
  for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    into.set(name!, { kind: 'struct', fields: readFields(body!) });
  }
  for (const [, name] of text.matchAll(/^type (\w+) struct ?\{\}$/gm)) into.set(name!, { kind: 'struct', fields: [] });
  for (const [, name, underlying] of text.matchAll(/^type (\w+) (\[\][\w.]+|map\[[\w.]+\][\w.*[\]]+|[\w.]+)$/gm)) {
    if (underlying !== 'struct' && underlying !== 'interface') into.set(name!, { kind: 'named', underlying: underlying! });
  }
  for (const [, name, target] of text.matchAll(/^type (\w+) = ([\w.]+)$/gm)) into.set(name!, { kind: 'alias', target: target! });
}

function readFields(body: string): GoField[] {
  const fields: GoField[] = [];
  for (const [, type, tags] of body.matchAll(/^\t(?:\w+\s+)?([\w.*[\]]+)\s+`(.*)`/gm)) {
    const json = /json:"([^"]*)"/.exec(tags!)?.[1];
    if (json === undefined || json === '-') continue;
    const [jsonName, ...options] = json.split(',');
    const number = /protobuf:"\w+,(\d+)/.exec(tags!)?.[1];
    fields.push({
      jsonName: jsonName!,
      goType: type!,
      omitEmpty: options.includes('omitempty'),
      omitZero: options.includes('omitzero'),
      protoNumber: number === undefined ? undefined : Number(number),
    });
  }
  return fields;
}

function readMessages(text: string): Map<string, Set<number>> {
  const messages = new Map<string, Set<number>>();
  for (const [, name, body] of text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    messages.set(name!, new Set([...body!.matchAll(/^ {2}[^/\n]*= (\d+);/gm)].map((match) => Number(match[1]))));
  }
  return messages;
}
