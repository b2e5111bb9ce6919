import { ApiError, ConnectionError, type Received, type Transport } from '@capstan/client';
import type { ByteCount } from './body.ts';

/** A request to the API server, with the caller's own token. */
export interface UpstreamCall {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly authorization: string;
  readonly body?: string;
  readonly type?: string;
  readonly signal?: AbortSignal;
}

const noTimeouts = {};
/** In milliseconds. */
const longestSilence = 30_000;
/** In bytes: a larger answer is not read to the end. */
const largestAnswer = 64 * 1024 * 1024;

/**
 * The API server, as its callers see it. It has no credentials of its own: every request carries those of a caller, and nothing else that the caller sent. Requests
 * are not repeated here, because callers decide about that.
 */
export class Upstream {
  readonly #transport: Transport;
  readonly #share: ByteCount | undefined;

  /** Responses are counted in the share. */
  constructor(transport: Transport, share?: ByteCount) {
    this.#transport = transport;
    this.#share = share;
  }

  async json<T>(call: UpstreamCall): Promise<T> {
    return JSON.parse(await this.text(call)) as T;
  }

  async text(call: UpstreamCall): Promise<string> {
    const answer = await this.#send(call, false);
    const text = await bodyOf(answer, this.#share);
    if (answer.code < 200 || answer.code > 299) throw ApiError.of(answer.code, text, answer.header('retry-after'));
    return text;
  }

  /** A long-lived response, on a connection of its own. Its body must be read or destroyed. */
  async open(call: UpstreamCall): Promise<Received> {
    const answer = await this.#send(call, true);
    if (answer.code < 200 || answer.code > 299)
      throw ApiError.of(answer.code, await bodyOf(answer, this.#share), answer.header('retry-after'));
    return answer;
  }

  #send({ method, path, authorization, body, type, signal }: UpstreamCall, dedicated: boolean): Promise<Received> {
    return this.#transport.send({
      method,
      path,
      headers: {
        authorization,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': type ?? 'application/json' }),
      },
      timeouts: noTimeouts,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
      ...(dedicated && { dedicated }),
    });
  }
}

async function bodyOf(answer: Received, share: ByteCount | undefined): Promise<string> {
  let text = '';
  let isTooLarge = false;
  let refusal: unknown;
  try {
    await answer.read(longestSilence, (piece) => {
      try {
        share?.take(piece.length);
      } catch (error) {
        refusal = error;
        return answer.destroy();
      }
      text += piece;
      isTooLarge = text.length > largestAnswer;
      if (isTooLarge) answer.destroy();
    });
  } catch (error) {
    if (refusal !== undefined) throw refusal;
    if (isTooLarge) throw new ConnectionError('failed', `an answer of the API server is larger than ${largestAnswer} bytes`);
    throw error;
  }
  if (refusal !== undefined) throw refusal;
  return text;
}
