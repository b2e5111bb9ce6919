import {
  applyInParts,
  asJson,
  CodecError,
  fieldError,
  isObject,
  type JsonObject,
  jsonPatchInParts,
  type KubeObject,
  markedProblem,
  markLiterals,
  mergePatch,
  type ObjectType,
  type Parts,
  parseYamlInParts,
  StatusError,
  type StrictYaml,
  status,
  strategicMergePatch,
  strictDecodingMessage,
  unmarked,
  whole,
} from '@capstan/machinery';
import type { RequestContext } from '../registry/context.ts';
import { resetFieldsOf } from '../registry/reset-fields.ts';
import type { Resource } from '../registry/resource.ts';
import type { Changed } from '../registry/update.ts';
import { asText, checked, checkedInParts } from './decode.ts';
import { cutIntegers } from './patch-integers.ts';
import { misfit, unreadable } from './patch-misfit.ts';
import { patchProblems } from './patch-problems.ts';
import { shownResult } from './patch-text.ts';
import type { WriteSettings } from './write.ts';

export type PatchKind = 'json' | 'merge' | 'strategic' | 'apply';

const kinds: ReadonlyMap<string, PatchKind> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

/** Strategic merge patches need Go types, which custom resources do not have. */
const customPatches = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];

export function patchKindOf(contentType: string | undefined, hasType = true): PatchKind {
  const kind = kinds.get((contentType ?? '').split(';', 1)[0]!.trim().toLowerCase());
  if (!hasType && (kind === undefined || kind === 'strategic')) throw status.unsupportedMediaType(customPatches);
  if (kind === undefined)
    throw new StatusError({ code: 415, reason: 'UnsupportedMediaType', message: '415: Unsupported Media Type', details: {} });
  return kind;
}

interface Patch {
  readonly kind: PatchKind;
  readonly bytes: Buffer;
  readonly settings: WriteSettings;
  readonly resource: Resource;
  /** The type by which strategic patches are merged; undefined if they are not supported. */
  readonly type: ObjectType | undefined;
}

/** Returns a function that applies the patch to an object. Only server-side apply works without an object. */
export async function patched(context: RequestContext, patch: Patch): Promise<(old: KubeObject | undefined) => Changed | Promise<Changed>> {
  if (patch.kind === 'apply') return applied(context, patch, await context.pace().run(parseConfig(patch.bytes.toString())));
  return (old) => context.pace().run(changed(context, patch, asJson(old!)));
}

function* changed(context: RequestContext, patch: Patch, before: JsonObject): Parts<Changed> {
  const text = patch.bytes.toString();
  const result = yield* made(before, text, patch);
  // Decoding modifies the result, so a message that shows it builds it again.
  const shown = (): string => {
    const { kind, resource } = patch;
    const type = resource.custom === undefined ? resource.type : undefined;
    return shownResult({ kind, patch: text, before, result: whole(made(before, text, patch)), type });
  };
  const refuse = (why: string): StatusError => {
    if (patch.kind !== 'strategic') return invalidPatch(shown(), why);
    return invalidPatch(shown(), misfit(whole(made(before, text, patch)), patch.type ?? patch.resource.type) ?? unreadable(why));
  };
  yield;
  yield* checkNumbers(before, text, patch);
  yield;
  return { object: yield* read(result, patch, { context, text, refuse, shown }) };
}

/** A patch must not contain `1.0` for an integer either, except a strategic one, which is merged as numbers. */
function* checkNumbers(before: JsonObject, text: string, patch: Patch): Parts<void> {
  const { kind, resource } = patch;
  if (kind === 'strategic' || resource.custom !== undefined) return;
  const marked = yield* markLiterals(text);
  if (marked === undefined) return;
  yield;
  const result = yield* markedResult(before, marked, patch);
  if (result === undefined) return;
  const why = yield* markedProblem(result, resource.type);
  if (why !== undefined) throw invalidPatch(unmarked(shownResult({ kind, patch: marked, before, result, type: resource.type })), why);
}

/** Undefined if an operation compares numbers: marked ones are never equal. */
function* markedResult(before: JsonObject, marked: string, patch: Patch): Parts<JsonObject | undefined> {
  try {
    return yield* made(before, marked, patch);
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

function* made(before: JsonObject, text: string, { kind, settings, resource, type }: Patch): Parts<JsonObject> {
  if (kind === 'json') return yield* jsonPatchInParts(before, text, { fieldValidation: settings.validation });
  if (kind === 'merge') return yield* mergePatch(before, text, { fieldValidation: settings.validation });
  return yield* strategicMergePatch(before, text, type ?? resource.type);
}

interface Reading {
  readonly context: RequestContext;
  readonly text: string;
  readonly refuse: (why: string) => StatusError;
  /** The result as Kubernetes shows it. */
  readonly shown: () => string;
}

/** Decodes the patched object like a body: patches can contain anything. */
function* read(result: JsonObject, patch: Patch, reading: Reading): Parts<KubeObject> {
  const { kind, resource, settings } = patch;
  const inPatch = settings.validation === 'Ignore' ? [] : yield* patchProblems(kind, reading.text);
  yield;
  // A strategic patch is merged into an object that already has its kind.
  if (kind !== 'strategic' && resource.custom === undefined) checkKind(result, patch, { reading, inPatch });
  result['metadata'] ??= {};
  let problems: readonly string[];
  try {
    problems = yield* kind === 'strategic' ? fitted(result, resource) : checkedInParts(result, resource);
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 400) throw error;
    throw reading.refuse(readingProblem(error));
  }
  if (problems.length > 1) problems = inOrder(problems, patch, reading);
  tell([...inPatch, ...problems], patch, reading);
  return result as unknown as KubeObject;
}

const readingProblem = ({ message }: StatusError): string => message.replace(/^.*?cannot be handled as a [^:]*: /, '');

/** Decodes the value as its kind, with integers truncated to fit. */
function* fitted(value: JsonObject, resource: Resource): Parts<readonly string[]> {
  try {
    return yield* checkedInParts(value, resource);
  } catch (error) {
    if (resource.custom === undefined && cutIntegers(value, resource.type)) return yield* checkedInParts(value, resource);
    throw error;
  }
}

function tell(problems: readonly string[], { settings }: Patch, { context, refuse }: Reading): void {
  if (settings.validation === 'Strict' && problems.length > 0) throw refuse(strictDecodingMessage(problems));
  if (settings.validation === 'Warn') for (const problem of problems) context.warn(problem);
}

/** Unknown fields in the order in which Kubernetes finds them. */
function inOrder(problems: readonly string[], { kind, resource }: Patch, { shown }: Reading): readonly string[] {
  if (kind === 'strategic') return [...problems].sort();
  if (resource.custom !== undefined) return problems;
  return checked(JSON.parse(shown()) as JsonObject, resource);
}

/**
 * A result without a version is decoded as the internal version, whose fields have other names: Kubernetes finds nothing of the
 * object in it, not even its name.
 */
function checkKind(result: JsonObject, patch: Patch, { reading, inPatch }: { reading: Reading; inPatch: readonly string[] }): void {
  const { resource } = patch;
  const { kind, apiVersion } = result;
  const scheme = 'in scheme "pkg/api/legacyscheme/scheme.go:30"';
  if (apiVersion !== undefined && apiVersion !== null && apiVersion !== '') {
    if (isNamed(kind, resource.kind) && apiVersion === resource.groupVersion) return;
    throw reading.refuse(`no kind "${asText(kind)}" is registered for version "${asText(apiVersion)}" ${scheme}`);
  }
  if (!isNamed(kind, resource.kind))
    throw reading.refuse(`no kind "${asText(kind)}" is registered for the internal version of group "${resource.group}" ${scheme}`);
  const fields = Object.keys(result).filter((field) => field !== 'kind' && field !== 'apiVersion');
  tell([...inPatch, ...fields.sort().map((field) => `unknown field "${field}"`)], patch, reading);
  const { name } = reading.context.info;
  throw status.badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
}

/** A missing kind stands for the expected one. */
function isNamed(given: unknown, expected: string): boolean {
  return given === undefined || given === null || given === '' || given === expected;
}

function invalidPatch(text: string, why: string): StatusError {
  return status.invalidObject({ group: '', kind: '' }, '', [
    { type: 'FieldValueInvalid', field: 'patch', body: `Invalid value: ${fieldError.quote(text)}: ${why}` },
  ]);
}

function applied(
  context: RequestContext,
  { settings, resource }: Patch,
  { config, duplicates }: Config,
): (old: KubeObject | undefined) => Promise<Changed> {
  return async (old) => {
    const pace = context.pace();
    const parts = applyInParts({
      live: old,
      config,
      type: resource.type,
      kind: resource.kind,
      manager: settings.manager,
      force: settings.options.force === true,
      apiVersion: resource.groupVersion,
      subresource: context.info.subresource,
      now: context.now(),
      resetFields: resetFieldsOf(resource, context.info.subresource),
    });
    const { object } = await pace.run(parts);
    const pausing = pace.pause();
    if (pausing !== undefined) await pausing;
    if (duplicates !== undefined) reportDuplicates(duplicates, settings, context);
    try {
      await pace.run(fitted(asJson(object), resource));
    } catch (error) {
      const isOurs = resource.custom === undefined && error instanceof StatusError && error.code === 400;
      if (!isOurs) throw error;
      throw unconvertible(config, resource, misfit(asJson(object), resource.type) ?? unreadable(readingProblem(error)));
    }
    return { object, applied: true };
  };
}

/** The value fits the schema but cannot be decoded as its type, such as a quantity or a time. Kubernetes reports an internal error. */
function unconvertible({ metadata }: KubeObject, { kind, groupVersion }: Resource, why: string): StatusError {
  const type = `${groupVersion.includes('/') ? groupVersion : `/${groupVersion}`}, Kind=${kind}`;
  const object = `${metadata.namespace ?? ''}/${metadata.name ?? ''}; ${type}`;
  const text = `failed to convert new object (${object}) to proper version: unable to convert unstructured object to ${type}: ${why}`;
  return new StatusError({ code: 500, message: text });
}

/** Duplicate keys in an applied configuration are reported after errors in its fields. */
function reportDuplicates(duplicates: string, { validation }: WriteSettings, context: RequestContext): void {
  if (validation === 'Strict') throw status.badRequest(`error strict decoding YAML: error converting YAML to JSON: ${duplicates}`);
  if (validation === 'Warn') for (const line of duplicates.split('\n').slice(1)) context.warn(line.trim());
}

interface Config {
  readonly config: KubeObject;
  readonly duplicates: string | undefined;
}

export function* parseConfig(text: string): Parts<Config> {
  let parsed: StrictYaml;
  try {
    parsed = yield* parseYamlInParts(text);
  } catch (error) {
    if (error instanceof CodecError) throw status.badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`);
    throw error;
  }
  const duplicates = parsed.duplicates;
  const value = parsed.value ?? {};
  if (!isObject(value)) {
    const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
    const why = `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
    throw status.badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
  }
  return { config: value as unknown as KubeObject, duplicates };
}
