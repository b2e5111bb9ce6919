import { writeFileSync } from 'node:fs';
import { openEtcdStore } from '@capstan/store';
import { Child, freePort, TestAuthority, temporaryDirectory } from '@capstan/testbed';
import { describeWith } from '@capstan/testbed/vitest';
import { expect, it } from 'vitest';

await describeWith(['etcd', 'openssl'], 'an etcd that requires client certificates', ({ etcd }) => {
  it('accepts a certificate of its authority, and no connection without one', async () => {
    using directory = temporaryDirectory('etcd-tls');
    const authority = await TestAuthority.create(directory.path);
    const server = await authority.issue('/CN=etcd', ['127.0.0.1']);
    const client = await authority.issue('/CN=client');
    writeFileSync(directory.join('server.crt'), server.certificate);
    writeFileSync(directory.join('server.key'), server.key);
    const endpoint = `https://127.0.0.1:${await freePort()}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    await using member = new Child('etcd', [
      ...[etcd, '--name', 'm0', '--data-dir', directory.join('data'), '--log-level', 'warn'],
      ...['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `m0=${peer}`],
      ...['--cert-file', directory.join('server.crt'), '--key-file', directory.join('server.key')],
      ...['--client-cert-auth', '--trusted-ca-file', directory.join('ca.crt')],
    ]);
    const tls = { ca: authority.certificate, cert: client.certificate, key: client.key };
    await member.waitUntil('reachable', async () => {
      const store = await openEtcdStore({ endpoints: [endpoint], tls }).catch(() => undefined);
      await store?.[Symbol.asyncDispose]();
      return store !== undefined;
    });
    await using store = await openEtcdStore({ endpoints: [endpoint], tls });
    const revision = await store.create('/a', '1');
    expect(await store.get('/a')).toMatchObject({ value: '1', revision });
    await expect(openEtcdStore({ endpoints: [endpoint], tls: { ca: authority.certificate } })).rejects.toMatchObject({
      code: 'unavailable',
    });
    await expect(openEtcdStore({ endpoints: [endpoint] })).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/certificate/),
    });
  });
});
