import {
  endsPart,
  type FieldError,
  FieldPath,
  fieldError,
  fieldImmutable,
  fieldsOf,
  type KubeObject,
  names,
  stringMapOf,
  textOf,
} from '@capstan/machinery';
import { decodedLength, sameValue } from '../parts.ts';
import { made } from '../shared/defaulting.ts';
import type { Strategy } from '../strategy.ts';
import { dataLimit, immutableMessage } from './configmap.ts';
import { jsonObjectProblem } from './go-json.ts';
import { keyPairProblem } from './key-pair.ts';

const data = FieldPath.of('data');
const accountAnnotation = 'kubernetes.io/service-account.name';

type Data = Readonly<Record<string, string>>;

const requiredKey = (key: string): FieldError => fieldError.required(data.key(key));

/** Requirements of each type on its data; other types have none. */
const typeRules = new Map<string, (values: Data, object: KubeObject) => FieldError[]>([
  [
    'kubernetes.io/service-account-token',
    (_values, { metadata }) =>
      metadata.annotations?.[accountAnnotation]
        ? []
        : [fieldError.required(FieldPath.of('metadata', 'annotations').key(accountAnnotation))],
  ],
  ['kubernetes.io/dockercfg', (values) => dockerErrors(values, '.dockercfg')],
  ['kubernetes.io/dockerconfigjson', (values) => dockerErrors(values, '.dockerconfigjson')],
  [
    'kubernetes.io/basic-auth',
    (values) => (Object.hasOwn(values, 'username') || Object.hasOwn(values, 'password') ? [] : ['username', 'password'].map(requiredKey)),
  ],
  ['kubernetes.io/ssh-auth', (values) => (values['ssh-privatekey'] ? [] : [requiredKey('ssh-privatekey')])],
  ['kubernetes.io/tls', (values) => ['tls.crt', 'tls.key'].filter((key) => !Object.hasOwn(values, key)).map(requiredKey)],
]);

function dockerErrors(values: Data, key: string): FieldError[] {
  if (!Object.hasOwn(values, key)) return [requiredKey(key)];
  const problem = jsonObjectProblem(Buffer.from(values[key]!, 'base64').toString());
  return problem === undefined ? [] : [fieldError.invalid(data.key(key), '<secret contents redacted>', problem)];
}

/** A mismatched pair is stored, but the client gets a warning. */
function warnAboutKeyPair(object: KubeObject, warn: (message: string) => void): void {
  if (object['type'] !== 'kubernetes.io/tls') return;
  const values = stringMapOf(object['data']);
  const problem = keyPairProblem(values['tls.crt'] ?? '', values['tls.key'] ?? '');
  if (problem !== undefined) warn(problem);
}

export const secrets: Strategy = {
  default(object) {
    if (!object['type']) object['type'] = 'Opaque';
    const plain = stringMapOf(object['stringData']);
    delete object['stringData'];
    for (const key in plain) {
      // A key may be `__proto__`, which plain assignment would not store.
      Object.defineProperty(made(object, 'data'), key, {
        value: Buffer.from(plain[key]!).toString('base64'),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
  },
  prepareForUpdate(object, old) {
    if (!object['type']) object['type'] = old['type'];
  },
  *validateObjectInParts(object, context) {
    const values = stringMapOf(object['data']);
    const errors: FieldError[] = [];
    let bytes = 0;
    for (const key in values) {
      if (endsPart()) yield;
      for (const message of names.configMapKey(key)) errors.push(fieldError.invalid(data.key(key), key, message));
      bytes += decodedLength(values[key]!);
    }
    if (bytes > dataLimit) errors.push(fieldError.tooLong(data, dataLimit));
    errors.push(...(typeRules.get(textOf(object['type']))?.(values, object) ?? []));
    if (errors.length === 0) warnAboutKeyPair(object, context.warn);
    return errors;
  },
  validateUpdate(object, old) {
    const errors: FieldError[] = [];
    if (object['type'] !== old['type']) errors.push(fieldError.invalid(FieldPath.of('type'), object['type'], fieldImmutable));
    if (old['immutable'] !== true) return errors;
    if (object['immutable'] !== true) errors.push(fieldError.forbidden(FieldPath.of('immutable'), immutableMessage));
    if (!sameValue(fieldsOf(object['data']), fieldsOf(old['data']))) errors.push(fieldError.forbidden(data, immutableMessage));
    return errors;
  },
  selectableLabels: ['type'],
  selectableFields: (object) => ({ type: textOf(object['type']) }),
};
