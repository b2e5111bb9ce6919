import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificateFingerprint, ensurePki } from '@capstan/pki';
import { expect, test } from 'vitest';
import { enroll } from './membership.ts';
import { StateDirectory } from './state.ts';

test('a machine that joins sends its token to nobody whose authority only comes with the pinned one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'capstan-membership-'));
  const [real, other] = await Promise.all([ensurePki(join(directory, 'real')), ensurePki(join(directory, 'other'))]);
  const tokens: (string | undefined)[] = [];
  const between = createServer({ cert: other.serving.certificate, key: other.serving.key }, (request, response) => {
    tokens.push(request.headers.authorization);
    response.end(real.authority.certificate + other.authority.certificate);
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  try {
    const server = `https://127.0.0.1:${(between.address() as AddressInfo).port}`;
    const joining = { server, token: 'secret', authorityHash: certificateFingerprint(real.authority.certificate) };
    const state = await StateDirectory.open(join(directory, 'state'));
    const options = { now: () => new Date(), signal: AbortSignal.timeout(20_000) };
    await expect(enroll(joining, state, options)).rejects.toMatchObject({ code: 'unreachable' });
    expect(tokens).toEqual([undefined]);
  } finally {
    between.close();
    rmSync(directory, { recursive: true });
  }
});
