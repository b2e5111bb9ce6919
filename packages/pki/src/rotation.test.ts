import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { createServer, get } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clientAuthorities, ensurePki, keepFresh, type Pki, readRotation, rotate, secureContext, trustedAuthorities } from './index.ts';
import { type FileChanges, fileChanges, type RotationAction, type RotationPhase, rotationActions } from './rotation.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rotation-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const file = (name: string): string => join(directory, name);
const read = (name: string): string => readFileSync(file(name), 'utf8');
const take = (action: RotationAction) => rotate(directory, action, new Date());
const blocks = (pem: string): number => pem.split('BEGIN CERTIFICATE').length - 1;
const isBelow = (certificate: string, authority: string): boolean =>
  new X509Certificate(certificate).verify(new X509Certificate(authority).publicKey);

/** The steps that lead to a phase. */
const ways: Readonly<Record<RotationPhase, readonly RotationAction[]>> = {
  standby: [],
  prepare: ['prepare'],
  switch: ['prepare', 'switch'],
};

describe('the phases', () => {
  const next: Readonly<Record<RotationPhase, Partial<Record<RotationAction, RotationPhase>>>> = {
    standby: { prepare: 'prepare' },
    prepare: { switch: 'switch', rollback: 'standby' },
    switch: { retire: 'standby', rollback: 'standby' },
  };
  const cases = (Object.keys(next) as RotationPhase[]).flatMap((phase) =>
    rotationActions.map((action) => [phase, action, next[phase][action]] as const),
  );

  it.each(cases)('%s: %s leads to %s', async (phase, action, expected) => {
    await ensurePki(directory);
    for (const step of ways[phase]) await take(step);
    if (expected === undefined) {
      await expect(take(action)).rejects.toThrow(`the authority is in the phase ${phase}, from which ${action} is not possible`);
      expect((await readRotation(directory)).phase).toBe(phase);
    } else {
      expect((await take(action)).phase).toBe(expected);
      expect((await ensurePki(directory)).rotation.phase).toBe(expected);
    }
  });

  it('keep one authority that signs and is trusted, whatever the order of steps', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...rotationActions), { maxLength: 8 }), async (actions) => {
        rmSync(directory, { recursive: true, force: true });
        let before = await ensurePki(directory);
        for (const action of actions) {
          const isDone = await take(action).then(
            () => true,
            () => false,
          );
          const after = await ensurePki(directory);
          if (!isDone) expect(trustedAuthorities(after)).toBe(trustedAuthorities(before));
          // The authority that signed before is trusted after every step but `rollback` from `switch`, which abandons it.
          const abandons = action === 'rollback' && before.rotation.phase === 'switch' && isDone;
          expect(trustedAuthorities(after).includes(before.authority.certificate)).toBe(!abandons);
          expect(isBelow(after.serving.certificate, after.authority.certificate)).toBe(true);
          expect(isBelow(after.signer!.certificate, after.authority.certificate)).toBe(true);
          expect(new X509Certificate(read('ca.crt')).checkPrivateKey(createPrivateKey(read('ca.key')))).toBe(true);
          before = after;
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe('the files of an authority that is rotated', () => {
  it('deliver both while the old one signs, then the new one, then only that', async () => {
    const standby = await ensurePki(directory);
    await take('prepare');
    const prepared = await ensurePki(directory);
    expect(prepared.serving.certificate).toBe(standby.serving.certificate);
    expect(trustedAuthorities(prepared).startsWith(standby.authority.certificate)).toBe(true);
    expect([blocks(trustedAuthorities(prepared)), blocks(clientAuthorities(prepared))]).toEqual([2, 4]);
    await take('switch');
    const switched = await ensurePki(directory);
    expect(switched.authority.certificate).toBe(prepared.rotation.otherAuthority);
    expect(switched.rotation.otherAuthority).toBe(standby.authority.certificate);
    for (const pair of [switched.serving, switched.admin, switched.controllerManager!, switched.signer!])
      expect(isBelow(pair.certificate, switched.authority.certificate)).toBe(true);
    expect([read('ca.crt'), read('signer.key')]).toEqual([switched.authority.certificate, switched.signer!.key]);
    await take('retire');
    const retired = await ensurePki(directory);
    expect(retired.authority.certificate).toBe(switched.authority.certificate);
    expect(trustedAuthorities(retired)).toBe(switched.authority.certificate);
    expect([blocks(retired.serving.certificate), blocks(clientAuthorities(retired))]).toEqual([1, 2]);
    expect(readdirSync(directory)).not.toContain('rotation.json');
    expect(retired.signer!.key).not.toBe(standby.signer!.key);
    expect(retired.serviceAccounts.kid).toBe(standby.serviceAccounts.kid);
  });

  it.each(['prepare', 'switch'] as const)('are the old ones again after a rollback from %s', async (phase) => {
    const standby = await ensurePki(directory);
    for (const step of ways[phase]) await take(step);
    const { authority, signer, rotation } = await ensurePki(directory);
    await take('rollback');
    const after = await ensurePki(directory);
    expect([read('ca.crt'), read('signer.key')]).toEqual([standby.authority.certificate, standby.signer!.key]);
    expect(clientAuthorities(after)).toBe(clientAuthorities(standby));
    expect(after.rotation.abandonedSigners).toEqual([phase === 'switch' ? signer!.certificate : rotation.otherSigner]);
    expect(read('rotation.json')).not.toContain('PRIVATE KEY');
    expect(authority.certificate === standby.authority.certificate).toBe(phase === 'prepare');
    await take('prepare');
  });

  it('hold keys for the owner only', async () => {
    await ensurePki(directory);
    await take('prepare');
    expect(statSync(file('rotation.json')).mode & 0o777).toBe(0o600);
  });

  it('are not prepared without the key that has to sign, nor before the server has taken up the last step', async () => {
    await ensurePki(directory);
    await take('prepare');
    await take('rollback');
    await expect(take('prepare')).rejects.toThrow('has not taken up the last step');
    await ensurePki(directory);
    unlinkSync(file('ca.key'));
    await expect(take('prepare')).rejects.toThrow('Put ca.key and signer.key into the pki folder');
  });

  it('are reported if damaged', async () => {
    writeFileSync(file('rotation.json'), '{"phase":"sw');
    await expect(ensurePki(directory)).rejects.toThrow('does not describe a rotation');
  });

  it('work with a copy of rotation.json on another server', async () => {
    await ensurePki(directory);
    const other = mkdtempSync(join(tmpdir(), 'rotation-'));
    try {
      for (const name of readdirSync(directory).filter((one) => !one.startsWith('apiserver.')))
        writeFileSync(join(other, name), read(name), { mode: 0o600 });
      await take('prepare');
      writeFileSync(join(other, 'rotation.json'), read('rotation.json'), { mode: 0o600 });
      for (const action of ['switch', 'retire'] as const) {
        await rotate(other, action, new Date());
        await take(action);
        const [one, two] = [await ensurePki(directory), await ensurePki(other)];
        expect(clientAuthorities(two)).toBe(clientAuthorities(one));
      }
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });
});

describe('a server killed between two changes of files', () => {
  const failing = (after: number): { changes: FileChanges; isOver: () => boolean; settled: () => Promise<unknown> } => {
    let left = after;
    const begun: Promise<void>[] = [];
    const count = (): void => {
      if (left-- <= 0) throw new Error('killed');
    };
    return {
      isOver: () => left >= 0,
      settled: () => Promise.allSettled(begun),
      changes: {
        write: async (...given) => {
          count();
          const writing = fileChanges.write(...given);
          begun.push(writing);
          await writing;
        },
        remove: async (name) => {
          count();
          await fileChanges.remove(name);
        },
      },
    };
  };

  it.each([
    ['switch', ['prepare'], 'switch'],
    ['retire', ['prepare', 'switch'], 'retire'],
    ['rollback from prepare', ['prepare'], 'rollback'],
    ['rollback from switch', ['prepare', 'switch'], 'rollback'],
  ] as const)('finishes %s after it starts again', async (_, way, action) => {
    for (let kill = 0; ; kill++) {
      rmSync(directory, { recursive: true, force: true });
      await ensurePki(directory);
      for (const step of way) {
        await take(step);
        await ensurePki(directory);
      }
      await take(action);
      const { changes, isOver, settled } = failing(kill);
      await ensurePki(directory, { changes }).catch(() => {});
      await settled();
      const after = await ensurePki(directory);
      expect(after.rotation.phase).toBe(action === 'switch' ? 'switch' : 'standby');
      expect([read('ca.crt'), read('signer.key')]).toEqual([after.authority.certificate, after.signer!.key]);
      expect(isBelow(after.serving.certificate, after.authority.certificate)).toBe(true);
      expect(isBelow(after.signer!.certificate, after.authority.certificate)).toBe(true);
      // The certificates after those of the authority are made again like any others.
      if (isOver() || kill === 6) break;
    }
  });
});

it('those who know only the old authority verify a server of the new one until the old one is retired', async () => {
  const answers = async (pki: Pki, ca: string): Promise<boolean> => {
    const server = createServer(secureContext(pki), (_, response) => response.end('ok'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      return await new Promise<boolean>((resolve) => {
        get({ host: '127.0.0.1', port, ca, agent: false }, (response) => resolve(response.resume().statusCode === 200)).on('error', () =>
          resolve(false),
        );
      });
    } finally {
      server.close();
    }
  };
  const { authority } = await ensurePki(directory);
  const results: boolean[][] = [];
  for (const action of ['prepare', 'switch', 'retire'] as const) {
    await take(action);
    const pki = await ensurePki(directory);
    const created = action === 'prepare' ? pki.rotation.otherAuthority! : pki.authority.certificate;
    results.push([await answers(pki, authority.certificate), await answers(pki, created), await answers(pki, trustedAuthorities(pki))]);
  }
  expect(results).toEqual([
    [true, false, true],
    [true, true, true],
    [false, true, true],
  ]);
});

it('a running server follows every step', async () => {
  const pki = await ensurePki(directory);
  const stop = new AbortController();
  const phases: string[] = [];
  let wake = (): void => {};
  keepFresh(pki, {
    signal: stop.signal,
    followMilliseconds: 5,
    onRenewed: ({ rotation }) => {
      phases.push(rotation.phase);
      wake();
    },
    onError: (error) => phases.push(String(error)),
  });
  for (const action of ['prepare', 'switch', 'retire'] as const) {
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    await take(action);
    await promise;
  }
  stop.abort();
  expect(phases).toEqual(['prepare', 'switch', 'standby']);
});
