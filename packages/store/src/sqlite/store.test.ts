import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { storeSuite } from '../suite/store-suite.ts';
import { openSqliteStore } from './open.ts';

storeSuite('SQLite', {
  async makePlace() {
    const directory = await mkdtemp(path.join(tmpdir(), 'capstan-store-'));
    return {
      open: () => openSqliteStore({ directory }),
      [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
    };
  },
});
