import { gzip } from 'node:zlib';
import { parseExact, type StatusError, status } from '@capstan/machinery';
import { dump } from 'js-yaml';
import type { Exchange } from './exchange.ts';
import { accepted, type Format, NotAcceptable, negotiate, plainFormat, takesJson } from './negotiate.ts';
import { protobufOf, protobufType } from './protobuf.ts';

/** Longer responses are compressed for clients that accept it. */
export const gzipAbove = 128 << 10;

export interface Reply {
  readonly code: number;
  /** JSON. */
  readonly body: string;
  readonly format: Format;
  readonly pretty: boolean;
}

/**
 * JSON is ready to send, protobuf must be encoded from it: longer lists are sent as JSON to clients that accept both, so that
 * they do not delay others.
 */
const longestEncoded = 512 << 10;

/** Sends JSON, or the requested format converted from it. */
export function reply(exchange: Exchange, { code, body, format, pretty }: Reply): void {
  if (format === 'protobuf' && !(body.length > longestEncoded && takesJson(exchange.headers.accept ?? ''))) {
    const bytes = protobufOf(body);
    if (bytes !== undefined) return exchange.send({ code, type: protobufType, body: bytes });
    const other = negotiate(exchange.headers.accept, false).format;
    if (other === 'protobuf') throw status.notAcceptable(accepted);
    return reply(exchange, { code, body, format: other, pretty });
  }
  if (format === 'yaml') {
    exchange.send({
      code,
      type: 'application/yaml',
      body: yamlOf(body),
    });
    return;
  }
  const text = pretty ? `${JSON.stringify(parseExact(body), null, 2)}\n` : body;
  compressed(exchange, { code, type: 'application/json', body: text });
}

/** Longer or deeper JSON is sent as it is, which is valid YAML: formatting it would block other requests. */
const longestLaidOut = 128 * 1024;
const deepestLaidOut = 64;

/** YAML as Kubernetes writes it. */
export function yamlOf(json: string): string {
  if (json.length > longestLaidOut || isDeep(json)) return json;
  return dump(JSON.parse(json), { lineWidth: -1, noRefs: true, sortKeys: true, seqNoIndent: true, quoteStyle: 'double' });
}

function isDeep(json: string): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case 0x22:
        // Skips the string: brackets in it do not count.
        for (at++; json.charCodeAt(at) !== 0x22; at++) if (json.charCodeAt(at) === 0x5c) at++;
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > deepestLaidOut) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      default:
    }
  }
  return false;
}

/** Sends a text, compressed if it is long and the client accepts that. */
export function compressed(exchange: Exchange, answer: { code: number; type: string; body: string }): void {
  if (answer.body.length <= gzipAbove || !(exchange.headers['accept-encoding'] ?? '').includes('gzip')) return exchange.send(answer);
  gzip(answer.body, { level: 1 }, (error, packed) => {
    if (error !== null) return exchange.send(answer);
    exchange.header('Content-Encoding', 'gzip');
    exchange.header('Vary', 'Accept-Encoding');
    exchange.send({ ...answer, body: packed });
  });
}

/** Turns any thrown error into a response. This is the only place that does. */
export function replyError(exchange: Exchange, error: unknown, onUnexpected: (error: unknown) => void): void {
  if (exchange.answered) {
    // The request had timed out before it was rejected.
    if (!(error instanceof status.StatusError)) onUnexpected(error);
    return;
  }
  if (error instanceof NotAcceptable) {
    sendStatus(exchange, new status.StatusError({ code: 406, reason: 'NotAcceptable', message: error.message, details: {} }));
    return;
  }
  if (error instanceof status.StatusError) return sendStatus(exchange, error);
  onUnexpected(error);
  sendStatus(exchange, status.internalError(error instanceof Error ? error.message : String(error)));
}

function sendStatus(exchange: Exchange, error: StatusError): void {
  const retryAfter = error.status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) exchange.header('Retry-After', String(retryAfter));
  if (error.code === 401) exchange.header('WWW-Authenticate', 'Bearer realm="kubernetes-master"');
  const body = `${JSON.stringify(error.status)}\n`;
  reply(exchange, { code: error.code, body, format: plainFormat(exchange.headers.accept), pretty: wantsPretty(exchange, null) });
}

/** Clients used by people get indented JSON. */
export function wantsPretty(exchange: Exchange, asked: string | null): boolean {
  if (asked !== null) return asked !== '0' && asked !== 'false';
  const agent = exchange.headers['user-agent'];
  return agent !== undefined && (agent.startsWith('curl/') || agent.startsWith('Wget/') || agent.startsWith('Mozilla/5.0'));
}
