import type { LookupAddress } from 'node:dns';
import { type AddressInfo, createServer } from 'node:net';
import { asClusterId, rootCluster } from '@capstan/api';
import { describe, expect, it } from 'vitest';
import { WebhookClient } from '../admission/webhooks/client.ts';
import { TestWebhook } from '../admission/webhooks/testing.ts';
import { oidc } from '../authn/oidc.ts';
import { startIssuer } from '../authn/testing.ts';
import { MemoryObjects } from '../authz/testing.ts';
import { isRange, Outbound } from './outbound.ts';

const everything = new Outbound({ deny: ['loopback', 'linkLocal', 'private'] });
const refusal = /is at an address that workspaces may not make the server call \(workspaces\.outbound\.deny\)/;

const found = (outbound: Outbound, host: string): Promise<string | LookupAddress[]> =>
  new Promise((resolve, reject) => {
    outbound.lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });

describe('an address', () => {
  it.each([
    ...[
      '127.0.0.1',
      '127.8.8.8',
      '0.0.0.0',
      '::1',
      '::',
      '::ffff:127.0.0.1',
      '::ffff:7f00:1',
      '169.254.169.254',
      'fe80::1',
      'fe80::1%eth0',
    ],
    ...['10.1.2.3', '172.31.0.1', '192.168.1.1', '100.64.0.1', 'fd00:ec2::254', '::ffff:10.0.0.1', '64:ff9b::a00:1'],
  ])('%s is rejected if all of these ranges are denied', (address) => {
    expect(() => everything.check(address)).toThrow(refusal);
  });

  it.each(['1.1.1.1', '172.32.0.1', '2606:4700::1111', 'example.com', ''])('%s is not rejected', (address) => {
    expect(() => everything.check(address)).not.toThrow();
  });

  it('may be allowed within a denied range', () => {
    const outbound = new Outbound({ deny: ['10.0.0.0/8'], allow: ['10.1.0.0/16'] });
    expect(() => outbound.check('10.1.2.3')).not.toThrow();
    expect(() => outbound.check('10.2.2.3')).toThrow(refusal);
    expect(() => outbound.check('127.0.0.1')).not.toThrow();
  });

  it('is checked behind a name, however it is written', async () => {
    await expect(found(everything, 'localhost')).rejects.toThrow(refusal);
    await expect(found(everything, '2130706433')).rejects.toThrow(refusal);
    await expect(found(new Outbound({ deny: ['linkLocal'] }), '127.0.0.1')).resolves.toEqual([{ address: '127.0.0.1', family: 4 }]);
  });

  it('range is a keyword or a CIDR', () => {
    expect(['private', '10.0.0.0/8', 'fc00::/7'].every(isRange)).toBe(true);
    expect(['local', '10.0.0.1', '10.0.0.0/33', '::/129', 'a/8', ''].some(isRange)).toBe(false);
  });
});

describe('a URL configured by a workspace', () => {
  const call = { body: () => '{}', timeoutSeconds: 5 };

  it('is not called as a webhook at a denied address, by any name, nor over an existing connection of the operator', async () => {
    await using hook = await TestWebhook.start(() => ({ body: '{}' }));
    using client = new WebhookClient(new MemoryObjects(), { outbound: everything });
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f.1']) {
      const endpoint = { by: 'url', url: `https://${host}:${hook.port}/x`, authorities: hook.authority } as const;
      await client.post({ ...call, cluster: rootCluster, endpoint }).catch(() => {});
      const asked = hook.questions.length;
      await expect(client.post({ ...call, cluster: asClusterId('tenant'), endpoint })).rejects.toThrow(refusal);
      expect(hook.questions.length).toBe(asked);
    }
    expect(hook.questions.length).toBeGreaterThan(0);
  });

  it("is not called for an issuer's keys either", async () => {
    await using issuer = await startIssuer();
    const options = { issuerUrl: issuer.url, clientIds: ['capstan'], audiences: ['api'], authorities: issuer.authorities };
    const token = issuer.token();
    await expect(oidc(options).authenticateToken(token, ['api'])).resolves.toBeDefined();
    await expect(oidc({ ...options, outbound: everything }).authenticateToken(token, ['api'])).rejects.toThrow(refusal);
    const elsewhere = new Outbound({ deny: ['loopback'], allow: ['127.0.0.1/32'] });
    issuer.document['jwks_uri'] = `https://127.0.0.2:${new URL(issuer.url).port}/keys`;
    await expect(oidc({ ...options, outbound: elsewhere }).authenticateToken(token, ['api'])).rejects.toThrow(refusal);
  });

  it('does not reveal whether something listens there', async () => {
    const listening = createServer();
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    using client = new WebhookClient(new MemoryObjects(), { outbound: everything });
    const { port } = listening.address() as AddressInfo;
    const [open, shut] = await Promise.all(
      [port, 1].map((at) =>
        client
          .post({
            ...call,
            cluster: asClusterId('tenant'),
            endpoint: { by: 'url', url: `https://127.0.0.1:${at}/`, authorities: undefined },
          })
          .catch((error: Error) => error.message.replace(`:${at}/`, '')),
      ),
    );
    expect(open).toMatch(refusal);
    expect(open).toBe(shut);
    listening.close();
  });
});
