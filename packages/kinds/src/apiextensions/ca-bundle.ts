import { X509Certificate } from 'node:crypto';
import type { KubeObject } from '@capstan/machinery';
import { fieldsOf, itemsOf, textOf } from '@capstan/machinery';

const begin = '-----BEGIN ';
const end = '-----END ';
const dashes = '-----';

interface Block {
  readonly type: string;
  readonly content: string;
}

/** Yields the PEM blocks of a text in linear time, since the text may be long and hostile. */
function* blocksOf(text: string): Generator<Block> {
  let last = -1;
  for (let start = text.indexOf(begin); start !== -1; start = text.indexOf(begin, start + begin.length)) {
    const line = text.indexOf('\n', start);
    if (last < start) last = text.indexOf(end, start);
    if (line === -1 || last === -1) return;
    const title = text.slice(start + begin.length, line).trimEnd();
    if (!title.endsWith(dashes) || last < line) continue;
    const type = title.slice(0, -dashes.length);
    if (text.startsWith(`${end}${type}${dashes}`, last)) yield { type, content: text.slice(line + 1, last) };
  }
}

const header = /^[^\n:]{1,200}:/;

/** The `caBundle` of a definition's conversion webhook, in base64; empty when it has none. */
export function conversionBundle(definition: KubeObject): string {
  const webhook = fieldsOf(fieldsOf(fieldsOf(definition['spec'])['conversion'])['webhook']);
  return textOf(fieldsOf(webhook['clientConfig'])['caBundle']);
}

/** Why a `caBundle` contains no usable certificate, in Kubernetes' words; undefined if it contains one or is empty. */
export function bundleProblem(base64: string): string | undefined {
  if (base64 === '') return undefined;
  const text = Buffer.from(base64, 'base64').toString('latin1');
  let malformed = false;
  let blocks = 0;
  for (const { type, content } of blocksOf(text)) {
    blocks++;
    if (type !== 'CERTIFICATE' || header.test(content)) continue;
    if (isCertificate(content)) return undefined;
    malformed = true;
  }
  const prefix = 'unable to load root certificates';
  if (blocks === 0) return `${prefix}: unable to parse bytes as PEM block`;
  return malformed
    ? `${prefix}: failed to parse certificate: x509: malformed certificate`
    : `${prefix}: no valid certificate authority data seen`;
}

function isCertificate(content: string): boolean {
  try {
    return new X509Certificate(Buffer.from(content, 'base64')).serialNumber !== '';
  } catch {
    return false;
  }
}

/** Any bundle is accepted in a new definition, in one that is not established yet, and in one whose bundle is already invalid. */
export function mayHaveAnyBundle(old: KubeObject | undefined): boolean {
  if (old === undefined) return true;
  const conditions = itemsOf(fieldsOf(old['status'])['conditions']);
  if (!conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return true;
  return bundleProblem(conversionBundle(old)) !== undefined;
}
