import { clusterAnnotation } from '@capstan/api';
import { asJson, fieldsOf, type KubeObject, StatusError } from '@capstan/machinery';
import { errorOf } from '../admission/webhooks/answer.ts';
import type { WebhookClient } from '../admission/webhooks/client.ts';
import { CallFailure } from '../admission/webhooks/failure.ts';
import { endpointOf } from '../admission/webhooks/hook.ts';
import type { CacheEntry } from '../cache/entry.ts';
import { Pace } from '../registry/pace.ts';
import { type Conversion, originOf } from '../registry/resource.ts';
import { type ConversionParts, renew, typePrefix } from './conversion.ts';
import type { WebhookConversion } from './definition.ts';
import { BadConversion, convertedObjects, makeReview, takeOver } from './review.ts';

const timeoutSeconds = 30;
/** Lists are converted in batches, so that no request becomes too large: so many objects, and so many characters unless a single one has more. */
const mostAtOnce = { objects: 500, characters: 2 << 20 };
/** In bytes. A character takes up to three, and objects may grow by a conversion. */
const largestAnswer = 8 << 20;

/** Conversion by the webhook of a definition. A converted object is cached for as long as its entry exists. */
export function webhookConversion(client: WebhookClient): WebhookConversion {
  return (parts, rule) => {
    const { summary, version, schemaOf, cluster } = parts;
    const endpoint = endpointOf(fieldsOf(rule.clientConfig));
    const convert = async (objects: readonly KubeObject[], name: string): Promise<KubeObject[]> => {
      const apiVersion = `${summary.group}/${name}`;
      const from = `${objects[0]!.apiVersion}, Kind=${objects[0]!.kind}`;
      const review = makeReview(objects, apiVersion, rule.reviewVersions);
      const call = { cluster, endpoint, body: () => review.text, timeoutSeconds, largestAnswer };
      const answer = await client.post(call).catch((error: unknown) => {
        throw error instanceof CallFailure ? failed(from, error.message.replace('failed to call webhook: ', '')) : error;
      });
      if (answer.code < 200 || answer.code > 206) throw failed(from, errorOf(answer));
      const converted = readAnswer(answer.text, review, from);
      if (converted.length !== objects.length)
        throw refused(`conversion webhook for ${from} returned ${converted.length} objects, expected ${objects.length}`);
      return objects.map((object, index) => take(object, converted[index], { apiVersion, from, index }));
    };
    return webhookMethods({
      parts,
      convert,
      prefix: typePrefix(summary, version.name),
      renewed: (object) => renew(object, schemaOf),
    });
  };
}

interface Methods {
  readonly parts: ConversionParts;
  readonly convert: (objects: readonly KubeObject[], version: string) => Promise<KubeObject[]>;
  readonly prefix: string;
  readonly renewed: (object: KubeObject) => KubeObject;
}

function webhookMethods({ parts, convert, prefix, renewed }: Methods): Conversion {
  const { summary, version, schemaOf, isOlder } = parts;
  const made = new WeakMap<CacheEntry, string>();
  const isOther = (entry: CacheEntry): boolean => !entry.text.startsWith(prefix);
  const convertAhead = async (entries: readonly CacheEntry[], pace: Pace): Promise<void> => {
    for (const part of batches(entries)) {
      const asked: KubeObject[] = [];
      for (const entry of part) {
        asked.push(renewed(entry.parse()));
        const pausing = pace.pause();
        if (pausing !== undefined) await pausing;
      }
      const objects = await convert(asked, version.name);
      pace.resume();
      for (const [index, entry] of part.entries()) {
        const object = objects[index]!;
        schemaOf(version.name).prune(asJson(object));
        made.set(entry, JSON.stringify(object));
        const pausing = pace.pause();
        if (pausing !== undefined) await pausing;
      }
    }
  };
  return {
    applies: (entry) => isOlder(entry) || isOther(entry),
    toStorage: (object) => {
      if (version.name === summary.storageVersion) return object;
      return convert([structuredClone(object)], summary.storageVersion).then(([stored]) => renewed(stored!));
    },
    fromStorage: (object, entry) => {
      if (!isOther(entry)) return renewed(object);
      const own = made.get(entry);
      const text = own ?? made.get(originOf(entry));
      if (text === undefined) throw refused(`conversion webhook for ${object.apiVersion}, Kind=${object.kind} was not asked in time`);
      const converted = JSON.parse(text) as KubeObject;
      converted.metadata.resourceVersion = String(entry.revision);
      if (own === undefined) placeAs(converted, object);
      return converted;
    },
    ahead: (entries, pace = new Pace()) => {
      const missing = entries.filter((entry) => isOther(entry) && !made.has(entry));
      return missing.length === 0 ? undefined : convertAhead(missing, pace);
    },
  };
}

function* batches(entries: readonly CacheEntry[]): Iterable<readonly CacheEntry[]> {
  let batch: CacheEntry[] = [];
  let characters = 0;
  for (const entry of entries) {
    if (batch.length > 0 && (batch.length === mostAtOnce.objects || characters + entry.text.length > mostAtOnce.characters)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(entry);
    characters += entry.text.length;
  }
  if (batch.length > 0) yield batch;
}

/** Gives an object that was converted for another workspace the cluster annotation of the workspace it is shown in. */
function placeAs({ metadata }: KubeObject, shown: KubeObject): void {
  const { [clusterAnnotation]: _, ...own } = metadata.annotations ?? {};
  const cluster = shown.metadata.annotations?.[clusterAnnotation];
  const annotations = { ...own, ...(cluster !== undefined && { [clusterAnnotation]: cluster }) };
  if (Object.keys(annotations).length === 0) delete metadata.annotations;
  else metadata.annotations = annotations;
}

function readAnswer(text: string, review: ReturnType<typeof makeReview>, from: string): unknown[] {
  try {
    return convertedObjects(text, review);
  } catch (error) {
    throw error instanceof BadConversion ? failed(from, error.message) : error;
  }
}

function take(object: KubeObject, converted: unknown, at: { apiVersion: string; from: string; index: number }): KubeObject {
  try {
    return takeOver(object, converted, at.apiVersion);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw refused(`conversion webhook for ${at.from} returned invalid converted object at index ${at.index}: ${why}`);
  }
}

function failed(from: string, why: string): StatusError {
  return refused(`conversion webhook for ${from} failed: ${why}`);
}

function refused(message: string): StatusError {
  return new StatusError({ code: 500, message });
}
