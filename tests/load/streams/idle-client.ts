import type { Connection } from '@capstan/testbed';
import type { WebSocket } from 'ws';
import { openMany, webSocketOpener } from './clients.ts';

/** A request of the measuring process for so many more streams. */
export interface IdleOrder {
  readonly address: Connection;
  readonly path: string;
  readonly count: number;
}

/** Few, since other processes do the same. */
const atOnce = 10;
/** Kept, so that they stay open until this process ends. */
const open: WebSocket[] = [];

process.on('message', ({ address, path, count }: IdleOrder) => {
  openMany(count, webSocketOpener(address, path), atOnce).then(
    (opened) => {
      open.push(...opened);
      process.send!({ opened: opened.length });
    },
    (error: Error) => process.send!({ error: error.message }),
  );
});
process.on('disconnect', () => process.exit());
