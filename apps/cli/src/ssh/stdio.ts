import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { ApiError } from '@capstan/client';
import { ForwardProhibited, type ForwardTarget, type SessionCommand, type SessionStart, SshError, serveSsh } from '@capstan/ssh';
import { Failure } from '../failure.ts';
import { connectPort } from '../units/port-forward.ts';
import { requireRunning } from '../units/shell.ts';
import { RemoteCommand, sendInput } from '../units/streams/command.ts';
import type { UnitPod } from '../units/streams/pod.ts';
import { findUnit, openUnits, type UnitFlags } from '../units/units.ts';
import { hostKey, hostSuffix, sshDirectory } from './files.ts';
import { sessionCommand, signalCommand } from './program.ts';

/** How long a forward waits for a server that restarts, in milliseconds. */
const patience = 5_000;
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);

const complain = (text: string): void => void process.stderr.write(`capstan: ${text}\r\n`);

/** Speaks SSH with the OpenSSH client that started this process, on standard input and output, for one unit. */
export async function serveStdio(host: string, flags: UnitFlags): Promise<void> {
  const name = host.endsWith(hostSuffix) ? host.slice(0, -hostSuffix.length) : host;
  using units = openUnits(flags);
  requireRunning(await findUnit(units, name), name);
  const pod: UnitPod = { units, name };
  try {
    await serveSsh({
      input: process.stdin,
      output: process.stdout,
      hostKey: hostKey(sshDirectory()),
      software: 'Capstan',
      startSession: (start) => startIn(pod, start),
      connect: (target) => connectTo(pod, target),
    });
  } catch (error) {
    if (error instanceof SshError)
      throw new Failure('unexpected', `the SSH client and capstan do not understand each other: ${error.message}.`, error);
    throw error;
  } finally {
    process.stdin.destroy();
  }
}

async function startIn(pod: UnitPod, start: SessionStart): Promise<SessionCommand> {
  const token = randomUUID();
  const command = sessionCommand(start, token);
  if (command === undefined) throw new Error('capstan: units have no other subsystem than sftp');
  const { terminal, input, output, errors } = start;
  const tty = terminal !== undefined;
  const remote = await begin(pod, { command, stdin: true, stdout: true, stderr: !tty, tty }, { stdout: output, stderr: errors });
  if (terminal !== undefined) remote.resize(terminal.columns, terminal.rows);
  // An input that breaks off means that the client has left.
  sendInput(remote, input.iterator({ destroyOnReturn: false })).catch(() => remote.close());
  let signals: Promise<unknown> = Promise.resolve();
  return {
    exited: exitOf(remote, pod, errors),
    resize: ({ columns, rows }) => remote.resize(columns, rows),
    signal: (name) => (signals = signals.then(() => signal(pod, signalCommand(name, token)))),
    close: () => remote.close(),
  };
}

async function begin(...[pod, query, options]: Parameters<typeof RemoteCommand.begin>): Promise<RemoteCommand> {
  try {
    return await RemoteCommand.begin(pod, query, options);
  } catch (error) {
    throw new Error(`capstan: ${(error as Error).message}`, { cause: error });
  }
}

async function exitOf(remote: RemoteCommand, { name }: UnitPod, errors: NodeJS.WritableStream): Promise<number> {
  try {
    const { code, message } = await remote.result;
    if (message !== undefined) errors.write(`capstan: ${message}\n`);
    return code;
  } catch (error) {
    throw new Error(`capstan: the connection to ${name} was lost: ${(error as Error).message}`, { cause: error });
  }
}

async function signal(pod: UnitPod, command: readonly string[]): Promise<void> {
  try {
    await (await RemoteCommand.begin(pod, { command, stdin: false, stdout: true, stderr: false, tty: false })).result;
  } catch (error) {
    complain(`the signal could not be sent: ${(error as Error).message}`);
  }
}

/** Only to the unit itself: the tunnel is no way into the networks of the node. */
async function connectTo(pod: UnitPod, { host, port }: ForwardTarget): Promise<Duplex> {
  if (!loopback.has(host))
    throw new ForwardProhibited(`expected localhost, which is the unit itself, found ${JSON.stringify(host)}; other hosts are not reached`);
  if (port < 1 || port > 65_535) throw new ForwardProhibited(`expected a port from 1 to 65535, found ${port}`);
  try {
    const { data, failure } = await connectPort(pod, port, { patience, signal: new AbortController().signal });
    void failure.then((reason) => reason !== undefined && complain(`port ${port}: ${reason}`));
    return data;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 401 || error.code === 403))
      throw new ForwardProhibited(error.message, { cause: error });
    throw error;
  }
}
