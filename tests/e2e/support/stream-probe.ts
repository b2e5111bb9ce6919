import { run } from '@capstan/testbed';

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}

const transports = ['SPDY', 'WebSocket', 'WebSocket or SPDY', 'SPDY after a refused WebSocket'];
const checks = [
  'exec passes input, both outputs and the exit code',
  'exec passes much in both directions',
  'exec resizes a terminal',
  'exec in an unknown container is refused',
  'attach reaches the program',
  'port-forward passes much in both directions',
];

/** The findings of a probe that has found everything right. */
export const expectedStreams = (): Check[] =>
  transports.flatMap((transport) => checks.map((check) => ({ name: `${transport}: ${check}`, ok: true })));

/** Opens the streams of client-go to a pod that runs `clientgo-probe -serve 9000`. */
export async function streamChecks([program, ...before]: readonly [string, ...string[]], args: readonly string[]): Promise<Check[]> {
  const { code, stdout, stderr } = await run(program, [...before, ...args], { timeout: 110_000 });
  if (code !== 0) throw new Error(`the probe ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Check[];
}
