import { randomBytes } from 'node:crypto';
import { SshError } from '../error.ts';
import { hostKeyAlgorithm } from '../host-key.ts';
import { message } from '../wire/messages.ts';
import { WireReader } from '../wire/reader.ts';
import { messageOf } from '../wire/writer.ts';
import { type CipherName, cipherNames } from './cipher.ts';

const keyExchanges = ['curve25519-sha256', 'curve25519-sha256@libssh.org'] as const;
const strictServer = 'kex-strict-s-v00@openssh.com';
const strictClient = 'kex-strict-c-v00@openssh.com';
/** The ciphers authenticate packets themselves. Some clients want a common name here all the same. */
const unusedMacs = ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-256'];

/** The algorithms of a client, in its order. */
export interface ClientOffer {
  readonly keyExchanges: readonly string[];
  readonly hostKeys: readonly string[];
  readonly ciphersToServer: readonly string[];
  readonly ciphersToClient: readonly string[];
  readonly compressionToServer: readonly string[];
  readonly compressionToClient: readonly string[];
  readonly guesses: boolean;
}

export interface Agreement {
  readonly cipherToServer: CipherName;
  readonly cipherToClient: CipherName;
  /** Whether the client ends the session at anything unexpected before encryption, and so must we. */
  readonly isStrict: boolean;
  /** Whether the client has sent a message for another key exchange already, which is to be ignored. */
  readonly ignoresNext: boolean;
}

export function serverOffer(): Buffer {
  const offer = messageOf(message.keyExchangeInit)
    .bytes(randomBytes(16))
    .names([...keyExchanges, strictServer])
    .names([hostKeyAlgorithm]);
  for (const names of [cipherNames, cipherNames, unusedMacs, unusedMacs, ['none'], ['none'], [], []]) offer.names(names);
  return offer.boolean(false).uint32(0).finish();
}

export function readOffer(payload: Buffer): ClientOffer {
  const reader = new WireReader(payload);
  reader.bytes(1 + 16);
  const lists = Array.from({ length: 10 }, () => reader.names());
  const guesses = reader.boolean();
  reader.uint32();
  reader.end();
  return {
    keyExchanges: lists[0]!,
    hostKeys: lists[1]!,
    ciphersToServer: lists[2]!,
    ciphersToClient: lists[3]!,
    compressionToServer: lists[6]!,
    compressionToClient: lists[7]!,
    guesses,
  };
}

/** The first algorithm of the client that we know, for each purpose. */
export function agree(offer: ClientOffer): Agreement {
  const keyExchange = choose('key exchange', offer.keyExchanges, keyExchanges);
  choose('host key', offer.hostKeys, [hostKeyAlgorithm]);
  choose('compression', offer.compressionToServer, ['none']);
  choose('compression', offer.compressionToClient, ['none']);
  return {
    cipherToServer: choose('cipher', offer.ciphersToServer, cipherNames),
    cipherToClient: choose('cipher', offer.ciphersToClient, cipherNames),
    isStrict: offer.keyExchanges.includes(strictClient),
    ignoresNext: offer.guesses && (offer.keyExchanges[0] !== keyExchange || offer.hostKeys[0] !== hostKeyAlgorithm),
  };
}

function choose<Name extends string>(purpose: string, offered: readonly string[], known: readonly Name[]): Name {
  const chosen = offered.map((name) => known.find((one) => one === name)).find((name) => name !== undefined);
  if (chosen !== undefined) return chosen;
  throw new SshError('keyExchangeFailed', `no common ${purpose}: expected one of ${known.join(', ')}, found ${offered.join(', ')}`);
}
