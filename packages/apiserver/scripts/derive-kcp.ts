import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isObject, type JsonObject, sameJson } from '@capstan/machinery';
import { load } from 'js-yaml';
import type { KcpFile, RootExport } from '../src/workspaces/kinds/definitions.ts';

/**
 * Writes the schemas of kcp's kinds, and which of them the root workspace exports, from the module of a kcp release:
 *
 *     node packages/apiserver/scripts/derive-kcp.ts --kcp-dir DIR [--check]
 *
 * DIR is the unpacked module, as in Go's module cache (`…/mod/github.com/kcp-dev/kcp@v0.31.2`). Only names, types, defaults, rules and their
 * messages are taken over, no prose. With --check nothing is written: it fails when the file is not what it would write.
 */
/** kcp has this rule in its schemas, but lets users choose anew which of their objects a provider sees; its own tests ask for that. */
const unenforced = 'Permission claim selector is immutable';

const { values } = parseArgs({ options: { 'kcp-dir': { type: 'string' }, check: { type: 'boolean', default: false } } });
if (values['kcp-dir'] === undefined) throw new Error('expected --kcp-dir DIR, the unpacked module of a kcp release');
const crds = join(values['kcp-dir'], 'config/crds');
const exported = join(values['kcp-dir'], 'config/root-phase0');

const groups = ['apis.kcp.io', 'cache.kcp.io', 'core.kcp.io', 'tenancy.kcp.io', 'topology.kcp.io'];
/** Copies on kcp's cache server: the store of this server is its cache. */
const leftOut = 'cache.kcp.io_cachedobjects.yaml';
const rootExports = ['tenancy.kcp.io', 'topology.kcp.io', 'shards.core.kcp.io'];

const definitions = readdirSync(crds)
  .filter((file) => file.endsWith('.yaml') && file !== leftOut && groups.includes(file.slice(0, file.indexOf('_'))))
  .sort()
  .map((file) => definition(read(join(crds, file))));
const exports = rootExports.map((name) => rootExport(read(join(exported, `apiexport-${name}.yaml`))));
for (const { resources } of exports) for (const resource of resources) expectSameSchema(resource);
write({ exports, definitions });

function definition(source: JsonObject): KcpFile['definitions'][number] {
  const { metadata, spec } = withoutProse(source) as { metadata: JsonObject; spec: JsonObject };
  return { name: metadata['name'] as string, spec };
}

function rootExport({ metadata, spec }: JsonObject): RootExport {
  const { resources, maximalPermissionPolicy } = spec as unknown as Omit<RootExport, 'name'>;
  const name = (metadata as JsonObject)['name'] as string;
  return { name, resources, ...(maximalPermissionPolicy !== undefined && { maximalPermissionPolicy }) };
}

/** The schema that an export names is made of the definition, so only one of them needs to be kept. */
function expectSameSchema({ group, name, schema }: RootExport['resources'][number]): void {
  const file = join(exported, `apiresourceschema-${name}.${group}.yaml`);
  const found = withoutProse(read(file)) as { metadata: JsonObject; spec: JsonObject };
  const expected = definitions.find((candidate) => candidate.name === `${name}.${group}`);
  const versions = (expected?.spec['versions'] as { schema: { openAPIV3Schema: JsonObject } }[] | undefined)?.map((version) => ({
    subresources: {},
    ...version,
    schema: version.schema.openAPIV3Schema,
  }));
  if (found.metadata['name'] !== schema || !sameJson(found.spec, { ...expected?.spec, versions }))
    throw new Error(`${file} differs from the definition of ${name}.${group}: expected them to say the same`);
}

/** Descriptions are text; a property that is called `description` is a schema. */
function withoutProse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProse);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(
    ([key, inner]) => !(key === 'description' && typeof inner === 'string') && !(key === 'x-kubernetes-validations' && isUnenforced(inner)),
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutProse(inner)]));
}

function isUnenforced(rules: unknown): boolean {
  return Array.isArray(rules) && rules.length === 1 && (rules[0] as JsonObject)['message'] === unenforced;
}

function read(file: string): JsonObject {
  const document = load(readFileSync(file, 'utf8'));
  if (!isObject(document)) throw new Error(`${file}: expected one YAML object`);
  return document;
}

/** One kind a line, so that a new version of kcp shows as a readable difference. */
function write(file: KcpFile): void {
  const lines = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).join(',\n');
  const text = `{"exports":[\n${lines(file.exports)}\n],"definitions":[\n${lines(file.definitions)}\n]}\n`;
  const target = new URL('../src/workspaces/generated/kcp.json', import.meta.url);
  if (!values.check) writeFileSync(target, text);
  else if (readFileSync(target, 'utf8') !== text) throw new Error('kcp.json is not what the module says: derive it again and commit it');
  process.stdout.write(`kcp.json: ${file.definitions.length} kinds, ${file.exports.length} exports, ${text.length} bytes\n`);
}
