/** Plain lines for people, or one JSON object per line for programs that collect logs. */
export const logFormats = ['text', 'json'] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LogOptions {
  /** The name of the process that logs. */
  readonly process: string;
  readonly format: LogFormat;
  readonly print?: (line: string) => void;
  readonly now?: () => Date;
}

/** Returns a function that logs a line. */
export function processLog({ process: name, format, print = printLine, now = () => new Date() }: LogOptions): (line: string) => void {
  if (format === 'text') return print;
  return (message) => print(JSON.stringify({ time: now().toISOString(), process: name, message }));
}

/** Returns a function that logs a line of a child process. In JSON, lines that the child has formatted itself are passed on. */
export function childLog(options: LogOptions): (line: string) => void {
  const { process: name, format, print = printLine } = options;
  if (format === 'text') return (line) => print(`${name} | ${line}`);
  const log = processLog(options);
  return (line) => (line.startsWith('{"time":') ? print(line) : log(line));
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
