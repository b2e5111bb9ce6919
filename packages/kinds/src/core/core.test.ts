import { generateKeyPairSync } from 'node:crypto';
import type { KubeObject } from '@capstan/machinery';
import { issueCertificate } from '@capstan/pki';
import { describe, expect, it } from 'vitest';
import { contextOf } from '../testing/context.ts';
import { configmaps } from './configmap.ts';
import { jsonObjectProblem } from './go-json.ts';
import { keyPairProblem } from './key-pair.ts';
import { namespaces } from './namespace.ts';
import { secrets } from './secret.ts';

describe('a secret', () => {
  it('converts stringData to data, under any key', () => {
    const object = JSON.parse(
      '{"kind":"Secret","apiVersion":"v1","metadata":{},"data":{"a":"MQ=="},"stringData":{"a":"2","__proto__":"3"}}',
    ) as KubeObject;
    secrets.default!(object);
    expect(JSON.stringify(object)).toBe(
      '{"kind":"Secret","apiVersion":"v1","metadata":{},"data":{"a":"Mg==","__proto__":"Mw=="},"type":"Opaque"}',
    );
  });

  it('of type TLS reports a key that does not match the certificate', () => {
    const [certificate, key] = makePair();
    const [, other] = makePair();
    expect(keyPairProblem(certificate, key)).toBeUndefined();
    expect(keyPairProblem(certificate, other)).toBe('tls: private key does not match public key');
    expect(keyPairProblem('', key)).toBe('tls: failed to find any PEM data in certificate input');
    expect(keyPairProblem(certificate, '')).toBe('tls: failed to find any PEM data in key input');
  });
});

/** A certificate and its key, each as base64 of PEM. */
function makePair(): [string, string] {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const from = new Date('2026-01-01T00:00:00Z');
  const request = { commonName: 'x', publicKey, notBefore: from, notAfter: new Date('2027-01-01T00:00:00Z'), usage: 'server' } as const;
  const certificate = issueCertificate(request, { key: privateKey });
  const base64 = (pem: string | Buffer): string => Buffer.from(pem).toString('base64');
  return [base64(certificate), base64(privateKey.export({ type: 'pkcs8', format: 'pem' }))];
}

describe('text that should be a JSON object', () => {
  it.each([
    ['{}', undefined],
    ['null', undefined],
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['x', "invalid character 'x' looking for beginning of value"],
    ['{a', "invalid character 'a' looking for beginning of object key string"],
    ['[]', 'json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['"x"', 'json: cannot unmarshal string into Go value of type map[string]interface {}'],
  ])('%j: %s', (text, problem) => {
    expect(jsonObjectProblem(text)).toBe(problem);
  });
});

describe('a namespace', () => {
  it('with a generated name gets its label once it is named', () => {
    const object: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'n-' } };
    namespaces.default!(object);
    expect(object.metadata.labels).toBeUndefined();
    object.metadata.name = 'n-1';
    namespaces.canonicalize!(object);
    expect(object.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'n-1' });
  });

  it('can be selected by its phase', () => {
    const object: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: {}, status: { phase: 'Active' } };
    expect(namespaces.selectableFields!(object)).toEqual({ 'status.phase': 'Active' });
  });
});

describe('an object with many keys is validated in parts', () => {
  const content = (value: string): object => Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, value]));

  it.each([
    ['ConfigMap', configmaps, { data: content('a'.repeat(110)), binaryData: content('YQ==') }, 10_001],
    ['ConfigMap', configmaps, { binaryData: content('YQ==') }, 0],
    ['Secret', secrets, { data: content('YQ==') }, 0],
  ])('%s', (kind, strategy, fields, errors) => {
    let parts = 1;
    const work = strategy.validateObjectInParts!({ apiVersion: 'v1', kind, metadata: {}, ...fields }, contextOf());
    let part = work.next();
    for (; part.done !== true; part = work.next()) parts++;
    expect(part.value).toHaveLength(errors);
    expect(parts).toBeGreaterThan(20);
  });
});
