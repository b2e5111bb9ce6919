/** Exit codes of `capstan`. They are part of the interface: scripts and the supervisor of `capstan up` depend on the numbers. */
export const exitCodes = {
  unexpected: 1,
  usage: 2,
  portInUse: 3,
  dataDirectoryHeld: 4,
  dataDirectoryUnusable: 5,
  badCertificate: 6,
  etcdUnreachable: 7,
  etcdTooOld: 8,
  storeDamaged: 9,
  otherInstallation: 10,
  snapshotDamaged: 11,
  notRunning: 12,
  unhealthy: 13,
  nodeRefused: 14,
  notRenewed: 15,
  /** As with `docker run`: the program of a unit did not run, so that there is no exit code of its own. */
  notRun: 125,
} as const;

export type ExitReason = keyof typeof exitCodes;

/** A failure that the user can do something about: reported as one message, without a stack. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly reason: ExitReason;

  constructor(reason: ExitReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}

export interface StartContext {
  readonly dataDirectory: string;
  readonly host: string;
  readonly port: number;
  /** The setting of the port in the file of `capstan up`, whose own `--port` is that of the API server. */
  readonly portSetting?: string | undefined;
}

/** Turns an error thrown during startup into one that the user can act on. */
export function explain(error: unknown, context: StartContext): Failure {
  if (error instanceof Failure) return error;
  const message = error instanceof Error ? error.message : String(error);
  for (const code of codes(error)) {
    const failure = explainCode(code, error, context);
    if (failure !== undefined) return new Failure(failure[0], failure[1], error);
  }
  return new Failure('unexpected', error instanceof Error ? (error.stack ?? message) : message, error);
}

function explainCode(code: string, error: unknown, context: StartContext): [ExitReason, string] | undefined {
  const { dataDirectory, host, port } = context;
  const { message, syscall } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EADDRINUSE':
      return ['portInUse', explainUsedPort(error, context)];
    case 'EADDRNOTAVAIL':
      return ['usage', `this machine has no address ${host}. Give --host an address of this machine, such as 127.0.0.1.`];
    case 'locked':
      return ['dataDirectoryHeld', `${message} with --data-dir.`];
    case 'EACCES':
    case 'EPERM':
      if (syscall === 'listen') return ['usage', `port ${port} needs special privileges. Choose one above 1023 with --port.`];
      return [
        'dataDirectoryUnusable',
        `${dataDirectory} cannot be used: ${message}. Give this user permission to read and write it, or choose another with --data-dir.`,
      ];
    case 'ENOTDIR':
    case 'EEXIST':
      return ['dataDirectoryUnusable', `${dataDirectory} cannot be used: it is not a directory. Choose another with --data-dir.`];
    case 'ENOENT':
    case 'EROFS':
    case 'ENOSPC':
    case 'readonly':
      return ['dataDirectoryUnusable', `${dataDirectory} cannot be used: ${message}. Choose another directory with --data-dir.`];
    case 'corrupt':
      return ['storeDamaged', `the store in ${dataDirectory} is damaged: ${message}. Restore a snapshot with "capstan snapshot restore".`];
    case 'PkiError':
      return ['badCertificate', `${message}.`];
    case 'outdated':
      return ['etcdTooOld', `${message}.`];
    case 'unavailable':
      return ['etcdUnreachable', `${message}.`];
    case 'otherInstallation':
      return ['otherInstallation', `${message}.`];
    default:
      return undefined;
  }
}

/** The codes of an error and its causes, outermost first. For an error of the server's keys: its name. */
function codes(error: unknown): string[] {
  const found: string[] = [];
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current.name === 'PkiError') found.push(current.name);
    if ('code' in current && typeof current.code === 'string') found.push(current.code);
  }
  return found;
}

/** The port may be another than that of the context, such as the one for health. */
function explainUsedPort(error: unknown, { host, port, portSetting }: StartContext): string {
  const { port: used = port, address = host } = error as { readonly port?: number; readonly address?: string };
  const isMain = used === port;
  const setting = portSetting === undefined || !isMain ? '' : ` (with "capstan up": with ${portSetting} in its configuration file)`;
  const flag = isMain ? '--port' : '--health-port';
  return `port ${used} on ${address} is used by another process. Choose another with ${flag}${setting}, or stop that process ("ss -ltnp sport = :${used}" shows it).`;
}
