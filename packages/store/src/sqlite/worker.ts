import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { Engine } from './engine.ts';
import type { Reply, Request } from './messages.ts';

/** The thread that owns the database. All its work is synchronous: requests wait in its mailbox. */

const port = parentPort!;
const { directory } = workerData as { directory: string };
const reply = (message: Reply): void => port.postMessage(message);

const engine = Engine.open(path.resolve(directory), reply);
if (engine === undefined) port.close();
else {
  port.on('message', (request: Request) => {
    engine.handle(request);
    if (request.type === 'close') port.close();
  });
}
