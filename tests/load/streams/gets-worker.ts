import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { Connection } from '@capstan/testbed';
import { requestText } from '../client/connection.ts';
import { Pool } from '../client/pool.ts';

try {
  setPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
} catch {
  // Only root may be preferred.
}
const { address, path, count } = workerData as { address: Connection; path: string; count: number };
using pool = await Pool.open(address, 8);
const request = requestText({ method: 'GET', path, token: address.token });
await pool.run({ clients: 8, count: count / 2, seconds: 20 }, () => request);
const { latencies } = await pool.run({ clients: 8, count, seconds: 60 }, () => request);
parentPort!.postMessage({ p50: latencies.quantile(0.5), p99: latencies.quantile(0.99) });
