import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { exportStore, type Store } from '@capstan/store';
import type { AnswerStream } from '../http/exchange.ts';
import type { Page } from '../registry/page.ts';

export const snapshotPath = '/capstan/snapshot';

/** Hands out a consistent copy of everything while the server runs. It holds every secret: only who may read all paths gets it. */
export function snapshotPage(store: Store, directory: string): Page {
  return async (exchange) => {
    const file = join(directory, `snapshot-${randomUUID()}.tmp`);
    try {
      await exportStore(store, file);
      const answer = exchange.stream(200, 'application/x-ndjson');
      for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 })) {
        answer.write(chunk as Buffer);
        if (answer.pending > 4 << 20) await drained(answer, exchange.onClose.bind(exchange));
      }
      answer.end();
    } finally {
      await rm(file, { force: true });
    }
  };
}

/** Resolves when the client has taken what waits for it, or is gone. */
function drained(answer: AnswerStream, onClose: (listener: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    answer.onDrain(resolve);
    onClose(resolve);
  });
}
