import { spawn } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adminKubeconfig, ensurePki, issueCertificate, keepFresh, type Pki, type PkiOptions, renew, secureContext } from './index.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'pki-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const file = (name: string): string => join(directory, name);
const read = (name: string): string => readFileSync(file(name), 'utf8');
const all = (): Record<string, string> => Object.fromEntries(readdirSync(directory).map((name) => [name, read(name)]));

describe('ensurePki', () => {
  it('creates everything on the first start and nothing on the second', async () => {
    await ensurePki(directory);
    const first = all();
    const pairs = [
      'admin',
      'apiserver',
      'apiserver-client',
      'apiserver-kubelet-client',
      'ca',
      'controller-manager',
      'kcp-admin',
      'platform-controllers',
      'console',
      'signer',
    ].flatMap((name) => [`${name}.crt`, `${name}.key`]);
    expect(Object.keys(first).sort()).toEqual([...pairs, 'sa.key'].sort());
    await ensurePki(directory);
    expect(all()).toEqual(first);
  });

  it('makes keys readable by the owner only', async () => {
    await ensurePki(directory);
    for (const name of readdirSync(directory))
      expect([name, statSync(file(name)).mode & 0o777]).toEqual([name, name.endsWith('.key') ? 0o600 : 0o644]);
  });

  it('issues a serving certificate for all standard hosts and the requested ones', async () => {
    const pki = await ensurePki(directory, { hosts: ['api.example.org', '10.1.2.3', 'fe80::1:2'] });
    const serving = new X509Certificate(pki.serving.certificate);
    for (const host of ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'api.example.org'])
      expect(serving.checkHost(host)).toBe(host);
    for (const address of ['127.0.0.1', '::1', '10.96.0.1', 'fd00:10:96::1', '10.1.2.3', 'fe80::1:2'])
      expect(serving.checkIP(address)).toBeDefined();
    expect(serving.checkHost('elsewhere.example.org')).toBeUndefined();
  });

  it('creates an administrator in system:masters with a client-only certificate', async () => {
    const pki = await ensurePki(directory);
    const admin = new X509Certificate(pki.admin.certificate);
    expect(admin.toLegacyObject().subject).toMatchObject({ CN: 'kubernetes-admin', O: 'system:masters' });
    expect(admin.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(admin.ca).toBe(false);
    expect(new X509Certificate(pki.authority.certificate).ca).toBe(true);
  });

  it('creates a client of kubelets without groups, for the rights are bound to its name', async () => {
    const { kubeletClient } = await ensurePki(directory);
    const client = new X509Certificate(kubeletClient!.certificate);
    expect(client.subject).toBe('CN=kube-apiserver-kubelet-client');
    expect(client.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  });

  it('creates a controller-manager and platform-controllers without groups, and an intermediate authority for its signatures', async () => {
    const pki = await ensurePki(directory);
    const manager = new X509Certificate(pki.controllerManager!.certificate);
    expect(manager.toLegacyObject().subject).toEqual(expect.objectContaining({ CN: 'system:capstan-controller-manager' }));
    const platform = new X509Certificate(pki.platformControllers!.certificate);
    expect(platform.toLegacyObject().subject).toEqual(expect.objectContaining({ CN: 'system:capstan:platform-controllers' }));
    for (const { subject } of [manager, platform]) expect(subject).not.toContain('O=');
    const signer = new X509Certificate(pki.signer!.certificate);
    expect([signer.ca, signer.verify(new X509Certificate(pki.authority.certificate).publicKey)]).toEqual([true, true]);
    expect(pki.signer!.key).not.toBe(read('ca.key'));
  });

  it('works for mutual TLS', async () => {
    const pki = await ensurePki(directory);
    const server = createServer({ ...secureContext(pki), requestCert: true, rejectUnauthorized: true }, (_, response) =>
      response.end('ok'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      const tls = { ca: pki.authority.certificate, cert: pki.admin.certificate, key: pki.admin.key, agent: false };
      get({ host: '127.0.0.1', port, ...tls }, (response) => resolve(response.resume().statusCode)).on('error', reject);
    });
    server.close();
    expect(answer).toBe(200);
  });

  it('recovers if a process died between any two files', async () => {
    await ensurePki(directory);
    const authority = read('ca.crt');
    for (const missing of ['apiserver.crt', 'apiserver.key', 'admin.crt', 'admin.key', 'sa.key']) {
      unlinkSync(file(missing));
      writeFileSync(file(`${missing}.tmp`), '-----BEGIN half');
      const pki = await ensurePki(directory);
      for (const pair of [pki.serving, pki.admin]) {
        expect(new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key))).toBe(true);
      }
    }
    expect(read('ca.crt')).toBe(authority);
    unlinkSync(file('ca.crt'));
    const anew = await ensurePki(directory);
    expect(new X509Certificate(anew.serving.certificate).verify(new X509Certificate(anew.authority.certificate).publicKey)).toBe(true);
  });

  it('recovers if a process was killed at any moment', async () => {
    const source = `import { ensurePki } from ${JSON.stringify(new URL('./pki.ts', import.meta.url).href)}; process.send('go'); await ensurePki(process.argv[1]);`;
    for (let delay = 0; delay < 12; delay += 2) {
      const place = join(directory, String(delay));
      const child = spawn(process.execPath, ['--input-type=module', '--eval', source, place], {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      });
      child.once('message', () => setTimeout(() => child.kill('SIGKILL'), delay));
      await once(child, 'exit');
      const pki = await ensurePki(place);
      for (const { certificate, key } of [pki.serving, pki.admin]) {
        const parsed = new X509Certificate(certificate);
        expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
        expect(parsed.verify(new X509Certificate(pki.authority.certificate).publicKey)).toBe(true);
      }
    }
  }, 60_000);

  it('adds new host names to the certificate', async () => {
    const before = await ensurePki(directory);
    const after = await ensurePki(directory, { hosts: ['late.example.org'] });
    expect(after.serving.certificate).not.toBe(before.serving.certificate);
    expect(after.admin.certificate).toBe(before.admin.certificate);
  });

  it.each(['ca.crt', 'ca.key', 'apiserver.crt', 'apiserver.key', 'admin.crt', 'sa.key'])(
    'names a damaged %s and does not overwrite it',
    async (name) => {
      await ensurePki(directory);
      writeFileSync(file(name), 'not PEM');
      await expect(ensurePki(directory)).rejects.toThrow(file(name));
      expect(read(name)).toBe('not PEM');
    },
  );

  it('rejects a ca.key that does not match ca.crt', async () => {
    await ensurePki(directory);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    writeFileSync(file('ca.key'), other.export({ type: 'pkcs8', format: 'pem' }));
    await expect(ensurePki(directory)).rejects.toThrow(/ca\.key: is not the key of ca\.crt/);
  });

  it('works without ca.key until something must be signed, and then reports it', async () => {
    await ensurePki(directory);
    unlinkSync(file('ca.key'));
    await ensurePki(directory);
    await expect(ensurePki(directory, { hosts: ['new.example.org'] })).rejects.toThrow(/no ca\.key to sign/);
  });

  it('omits the controllers and the signer if they are missing and cannot be signed', async () => {
    await ensurePki(directory);
    for (const name of ['ca.key', 'controller-manager.crt', 'platform-controllers.crt', 'signer.crt']) unlinkSync(file(name));
    expect(await ensurePki(directory)).toMatchObject({ controllerManager: undefined, platformControllers: undefined, signer: undefined });
  });

  it('reports a directory that is not writable', async () => {
    chmodSync(directory, 0o500);
    if (process.getuid?.() === 0) return;
    await expect(ensurePki(directory)).rejects.toThrow(/cannot be written/);
  });
});

describe('renew', () => {
  const start = new Date('2026-01-01T00:00:00Z');
  const later = (days: number) => () => new Date(start.getTime() + days * 86_400_000);

  it('keeps certificates for two thirds of their lifetime and then replaces them', async () => {
    const pki = await ensurePki(directory, { now: () => start });
    expect((await renew(pki, { now: later(200) })).changed).toBe(false);
    const renewed = await renew(pki, { now: later(300) });
    expect(renewed.changed).toBe(true);
    expect(renewed.pki.serving.notAfter).toEqual(later(665)());
    expect(renewed.pki.authority.certificate).toBe(pki.authority.certificate);
  });

  it('rejects an expired authority', async () => {
    const pki = await ensurePki(directory, { now: () => start });
    await expect(renew(pki, { now: later(4000) })).rejects.toThrow(/expired on 2035/);
  });
});

describe('hosts found on the machine', () => {
  const hostsIn = (): string => new X509Certificate(read('apiserver.crt')).subjectAltName ?? '';

  it('are in a new certificate, and replace it when they change', async () => {
    await ensurePki(directory, { foundHosts: ['192.0.2.1'] });
    expect(hostsIn()).toContain('IP Address:192.0.2.1');
    await ensurePki(directory, { foundHosts: ['192.0.2.2'] });
    expect(hostsIn()).toContain('IP Address:192.0.2.2');
    expect(hostsIn()).not.toContain('192.0.2.1');
  });

  it('may be missing from a certificate that cannot be replaced without ca.key', async () => {
    const { serving } = await ensurePki(directory);
    unlinkSync(file('ca.key'));
    const again = await ensurePki(directory, { foundHosts: ['192.0.2.1'] });
    expect(again.serving.certificate).toBe(serving.certificate);
  });
});

describe('keepFresh', () => {
  it('asks for the current hosts on every check', async () => {
    const pki = await ensurePki(directory, { foundHosts: ['192.0.2.1'] });
    const controller = new AbortController();
    const renewed = await new Promise<Pki>((resolve, reject) => {
      const wanted = (): PkiOptions => ({ foundHosts: ['192.0.2.2'] });
      const look = keepFresh(pki, { wanted, signal: controller.signal, onRenewed: resolve, onError: reject });
      look();
    });
    controller.abort();
    expect(new X509Certificate(renewed.serving.certificate).subjectAltName).toContain('192.0.2.2');
  });

  it('provides new certificates until it is aborted', async () => {
    let time = Date.parse('2026-01-01T00:00:00Z');
    const now = (): Date => new Date(time);
    const pki = await ensurePki(directory, { now });
    const controller = new AbortController();
    const renewed = await new Promise<Pki>((resolve, reject) => {
      keepFresh(pki, { wanted: () => ({ now }), signal: controller.signal, onRenewed: resolve, onError: reject, intervalMilliseconds: 5 });
      time += 300 * 86_400_000;
    });
    controller.abort();
    expect(renewed.serving.certificate).not.toBe(pki.serving.certificate);
    expect(read('apiserver.crt')).toBe(renewed.serving.certificate);
  });

  it('reports errors and continues', async () => {
    const pki = await ensurePki(directory);
    const controller = new AbortController();
    writeFileSync(file('admin.crt'), 'damaged');
    const error = await new Promise((resolve, reject) => {
      keepFresh(pki, { signal: controller.signal, onRenewed: reject, onError: resolve, intervalMilliseconds: 5 });
    });
    unlinkSync(file('admin.crt'));
    controller.abort();
    expect(error).toMatchObject({ name: 'PkiError' });
  });
});

describe('issueCertificate', () => {
  it('signs with an RSA authority and supports dates after 2049', () => {
    const authority = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const dates = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2051-06-01T12:00:00Z') };
    const root = new X509Certificate(
      issueCertificate({ commonName: 'rsa', publicKey: authority.publicKey, usage: 'authority', ...dates }, { key: authority.privateKey }),
    );
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const leaf = new X509Certificate(
      issueCertificate({ commonName: 'leaf', publicKey, usage: 'client', ...dates }, { key: authority.privateKey, certificate: root }),
    );
    expect(leaf.checkIssued(root) && leaf.verify(root.publicKey)).toBe(true);
    expect(leaf.validToDate).toEqual(dates.notAfter);
  });
});

it('the administrator kubeconfig has the server address and the client key', async () => {
  const pki = await ensurePki(directory);
  const config = adminKubeconfig(pki, 'https://127.0.0.1:6443');
  expect(config.clusters[0]!.cluster.server).toBe('https://127.0.0.1:6443');
  expect(Buffer.from(config.users[0]!.user['client-key-data']!, 'base64').toString()).toBe(pki.admin.key);
});
