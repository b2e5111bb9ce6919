import { expect, test } from 'vitest';
import { clientOffer, TestClient } from '../testing/client.ts';
import { message } from '../wire/messages.ts';
import { messageOf } from '../wire/writer.ts';

const ignored = messageOf(message.ignore).string('').finish();
const keyOf = (bytes: Buffer): Buffer => messageOf(message.ecdhInit).string(bytes).finish();
const plainExchange = clientOffer({ keyExchanges: ['curve25519-sha256'] });

test('exchanges keys with a signature of the host key, and again whenever the client asks', async () => {
  const client = await TestClient.connected();
  for (let times = 0; times < 3; times++) {
    client.send(messageOf(message.globalRequest).string('keepalive@openssh.com').boolean(true).finish());
    await client.expect(message.requestFailure);
    await client.exchange();
  }
  client.stream.end();
  expect(await client.ended).toBeUndefined();
});

test('holds messages back while keys are exchanged', async () => {
  const started = Promise.withResolvers<NodeJS.WritableStream>();
  const client = await TestClient.connected({
    startSession: ({ output }) => {
      started.resolve(output);
      return Promise.resolve({ exited: new Promise<number>(() => {}), resize: () => {}, signal: () => {}, close: () => {} });
    },
  });
  const channel = await client.open('session');
  expect(await client.request(channel, 'shell')).toBe(true);
  const output = await started.promise;
  await client.exchange(() => void output.write('late'));
  const data = await client.expect(message.channelData);
  expect([data.uint32(), data.text()]).toEqual([0, 'late']);
});

test('ignores the message of a client that guessed another key exchange', async () => {
  const client = new TestClient();
  client.sendVersion();
  const offer = clientOffer({ keyExchanges: ['sntrup761x25519-sha512@openssh.com', 'curve25519-sha256'], guesses: true });
  client.send(offer);
  client.send(keyOf(Buffer.alloc(1190)));
  await client.expect(message.keyExchangeInit);
  client.send(keyOf(Buffer.alloc(31)));
  expect(await client.disconnected()).toContain('expected a public key of 32 bytes');
});

test.each([
  ['key exchange', { keyExchanges: ['diffie-hellman-group14-sha256'] }],
  ['host key', { hostKeys: ['ssh-rsa'] }],
  ['cipher', { ciphers: ['aes128-ctr', 'none'] }],
])('says that there is no common %s', async (purpose, offer) => {
  const client = new TestClient();
  client.sendVersion();
  client.send(clientOffer(offer));
  expect(await client.disconnected()).toContain(`no common ${purpose}: expected`);
  expect(await client.ended).toMatchObject({ name: 'SshError', reason: 'keyExchangeFailed' });
});

test.each([
  ['of the wrong length', Buffer.alloc(33, 9)],
  ['zero', Buffer.alloc(32)],
  ['of small order', Buffer.from('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800', 'hex')],
])('rejects a public key %s', async (_title, key) => {
  const client = new TestClient();
  client.sendVersion();
  client.send(clientOffer());
  client.send(keyOf(key));
  expect(await client.disconnected()).toMatch(/public key/);
});

test('with strict key exchange, nothing may come before it or between its messages', async () => {
  const before = new TestClient();
  before.sendVersion();
  before.send(ignored);
  before.send(clientOffer());
  expect(await before.disconnected()).toContain('expected the key exchange to be the first message');
  const between = new TestClient();
  between.sendVersion();
  between.send(clientOffer());
  between.send(ignored);
  expect(await between.disconnected()).toContain('expected message 30 of the key exchange, found 2');
  const afterKeys = new TestClient();
  afterKeys.sendVersion();
  afterKeys.send(clientOffer());
  afterKeys.send(keyOf(Buffer.alloc(32, 9)));
  afterKeys.send(ignored);
  expect(await afterKeys.ended).toMatchObject({ message: 'expected message 21 of the key exchange, found 2' });
});

test('without it, clients may send messages that mean nothing', async () => {
  const client = new TestClient();
  client.sendVersion();
  client.send(ignored);
  client.send(plainExchange);
  client.send(ignored);
  client.send(messageOf(message.newKeys).finish());
  expect(await client.disconnected()).toContain('expected message 30 of the key exchange, found 21');
});

test.each([['SSH-1.99-Old\r\n'], ['GET / HTTP/1.1\r\n'], ['\n'], [`SSH-2.0-${'x'.repeat(300)}`], ['SSH-2.0-\u0000\r\n']])(
  'refuses to talk to %j',
  async (opening) => {
    const client = new TestClient();
    client.stream.write(opening);
    expect(await client.disconnected()).toBe('expected an SSH client of version 2.0');
  },
);

test('services wait for keys', async () => {
  const client = new TestClient();
  client.sendVersion();
  client.send(messageOf(message.serviceRequest).string('ssh-userauth').finish());
  expect(await client.disconnected()).toContain('expected message 20 of the key exchange, found 5');
});

test('ends without an error when the client leaves or says goodbye', async () => {
  const leaving = new TestClient();
  leaving.stream.end();
  expect(await leaving.ended).toBeUndefined();
  const polite = await TestClient.connected();
  polite.send(messageOf(message.disconnect).uint32(11).string('bye').string('').finish());
  expect(await polite.ended).toBeUndefined();
});
