import {
  builtinTypes,
  CodecError,
  checkObject,
  isObject,
  type Json,
  type JsonObject,
  parseApiVersion,
  parseJson,
  parseYaml,
  readTypeMeta,
  type Status,
} from '@capstan/machinery';
import type { WebhookAnswer } from './client.ts';
import { CallFailure } from './failure.ts';
import type { ReviewVersion } from './review.ts';

/** The decision of a webhook. */
export interface Verdict {
  readonly allowed: boolean;
  /** The JSON patch as text; empty if there is none. */
  readonly patch: string;
  readonly patchType: string;
  readonly result: Partial<Status> | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly mutating: boolean;
}

/** Parses the response of a webhook. Any response that does not match the review is a failure of the webhook. */
export function readAnswer(answer: WebhookAnswer, asked: Asked): Verdict {
  if (answer.code < 200 || answer.code > 206) throw new CallFailure(`failed to call webhook: ${errorOf(answer)}`);
  if (answer.text === '') {
    const what = `0-length response with status code: ${answer.code} and content type: ${answer.type}`;
    throw new CallFailure(`failed to call webhook: ${what}`);
  }
  let review: Review;
  try {
    review = reviewOf(answer.text, asked);
  } catch (error) {
    if (error instanceof CodecError) throw new CallFailure(`failed to call webhook: ${error.message}`);
    throw error;
  }
  const wrong = asked.version === 'v1' ? mistakeIn(review, asked) : review.response === undefined ? absent : undefined;
  if (wrong !== undefined) throw new CallFailure(`received invalid webhook response: ${wrong}`);
  return verdictOf(review.response!, asked);
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response: Response | undefined;
}

/** The response as received, with its types checked. */
interface Response {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status: Partial<Status> | undefined;
  readonly patch: string;
  readonly patchType: string | undefined;
  readonly auditAnnotations: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

const absent = 'webhook response was absent';

function mistakeIn({ apiVersion, kind, response }: Review, { uid, mutating }: Asked): string | undefined {
  if (response === undefined) return absent;
  if (response.uid !== uid) return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid)}`;
  if (kind !== 'AdmissionReview' || apiVersion !== 'admission.k8s.io/v1') {
    const { group, version } = parseApiVersion(apiVersion);
    return `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${group}/${version}, Kind=${kind}`;
  }
  const { patch, patchType } = response;
  if (!mutating) {
    if (patch !== '') return 'validating webhook may not return response.patch';
    return patchType === undefined ? undefined : 'validating webhook may not return response.patchType';
  }
  if (patch !== '' && patchType === undefined) return 'webhook returned response.patch but not response.patchType';
  if (patch === '' && patchType !== undefined) return 'webhook returned response.patchType but not response.patch';
  return patchType === '' ? 'webhook returned invalid response.patchType of ""' : undefined;
}

function verdictOf(response: Response, { version, mutating }: Asked): Verdict {
  const { allowed, status: result, warnings, auditAnnotations } = response;
  const patch = mutating ? response.patch : '';
  // v1beta1 ignored the type of a patch.
  const patchType = version === 'v1beta1' && patch !== '' ? 'JSONPatch' : (response.patchType ?? '');
  return { allowed, patch, patchType, result, warnings, auditAnnotations };
}

function reviewOf(text: string, { version }: Asked): Review {
  const value = parsed(text);
  const { apiVersion, kind } = readTypeMeta(value);
  const review = (value ?? {}) as JsonObject;
  if (apiVersion !== '' || kind !== '') checkKind(apiVersion, kind, version);
  return { apiVersion, kind, response: responseOf(review['response']) };
}

function parsed(text: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    // Kubernetes also accepts YAML, and reports errors accordingly.
    if (error instanceof CodecError) return parseYaml(text);
    throw error;
  }
}

function checkKind(apiVersion: string, kind: string, asked: ReviewVersion): void {
  if (kind !== 'AdmissionReview' || !/^admission\.k8s\.io\/v1(beta1)?$/.test(apiVersion)) {
    throw new CodecError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/runtime/scheme.go:110"`,
    );
  }
  const { version } = parseApiVersion(apiVersion);
  if (version !== asked) throw new CodecError(`converting (${version}.${kind}) to (${asked}.${kind}): unknown conversion`);
}

function responseOf(value: Json | undefined): Response | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw mismatch(value, 'AdmissionReview.response', 'v1.AdmissionResponse');
  const text = (field: string, type: string): string | undefined => {
    const found = value[field];
    if (found === undefined || found === null) return undefined;
    if (typeof found !== 'string') throw mismatch(found, `AdmissionResponse.response.${field}`, type);
    return found;
  };
  const { allowed } = value;
  if (allowed !== undefined && allowed !== null && typeof allowed !== 'boolean')
    throw mismatch(allowed, 'AdmissionResponse.response.allowed', 'bool');
  return {
    uid: text('uid', 'types.UID') ?? '',
    allowed: allowed === true,
    status: statusOf(value['status']),
    patch: decoded(text('patch', '[]uint8') ?? ''),
    patchType: text('patchType', 'v1.PatchType'),
    auditAnnotations: annotationsOf(value['auditAnnotations']),
    warnings: warningsOf(value['warnings']),
  };
}

function statusOf(value: Json | undefined): Partial<Status> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw mismatch(value, 'AdmissionResponse.response.status', 'v1.Status');
  checkObject(value, builtinTypes().object('io.k8s.apimachinery.pkg.apis.meta.v1.Status'));
  return value as Partial<Status>;
}

function decoded(base64: string): string {
  const plain = base64.replaceAll(/[\r\n]/g, '');
  const bad = /[^A-Za-z0-9+/=]/.exec(plain);
  if (bad !== null || plain.length % 4 !== 0)
    throw new CodecError(`illegal base64 data at input byte ${bad?.index ?? plain.length - (plain.length % 4)}`);
  return Buffer.from(plain, 'base64').toString();
}

function annotationsOf(value: Json | undefined): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw mismatch(value, 'AdmissionResponse.response.auditAnnotations', 'map[string]string');
  for (const text of Object.values(value)) {
    if (typeof text !== 'string') throw mismatch(text, 'AdmissionResponse.response.auditAnnotations', 'string');
  }
  return value as Record<string, string>;
}

function warningsOf(value: Json | undefined): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw mismatch(value, 'AdmissionResponse.response.warnings', '[]string');
  for (const text of value) if (typeof text !== 'string') throw mismatch(text, 'AdmissionResponse.response.warnings', 'string');
  return value as string[];
}

function mismatch(value: Json, field: string, type: string): CodecError {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : value === null ? 'null' : typeof value;
  return new CodecError(`json: cannot unmarshal ${kind} into Go struct field ${field} of type ${type}`);
}

const codeMessages: ReadonlyMap<number, string> = new Map([
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [405, 'the server does not allow this method on the requested resource'],
  [409, 'the server reported a conflict'],
  [422, 'the server rejected our request due to an error in our request'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted, but may still be processing the request'],
]);

const shownLength = 2048;

/** The error in an unsuccessful response: its Status, or the meaning of its code. */
export function errorOf({ code, text }: WebhookAnswer): string {
  try {
    const body = JSON.parse(text) as unknown;
    if (isObject(body) && body['kind'] === 'Status' && typeof body['message'] === 'string') return body['message'];
  } catch {
    // It is not a Status.
  }
  const shown = text.slice(0, shownLength).trim();
  if (code === 403 || code === 415) return shown;
  const known = codeMessages.get(code);
  if (known !== undefined) return known;
  if (code >= 500) return `an error on the server (${JSON.stringify(shown || 'unknown')}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}
