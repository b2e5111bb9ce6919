import { UnitProblem } from '../driver.ts';
import { EngineError } from './engine.ts';

/** Engines say as text only why a container, or a command in it, does not start. */
const kinds: readonly { readonly pattern: RegExp; readonly reason: UnitProblem['reason']; readonly isFinal: boolean }[] = [
  { pattern: /no space left|disk quota exceeded/i, reason: 'DiskFull', isFinal: false },
  {
    pattern: /unresolvable CDI devices|CDI device injection|error gathering device information/i,
    reason: 'DeviceUnavailable',
    isFinal: false,
  },
  { pattern: /no such image|image not known/i, reason: 'ImageMissing', isFinal: false },
  {
    pattern:
      /command that was not found|executable file not found|exec: .*(no such file|permission denied|is a directory|exec format error)|permission denied error|no command or entrypoint|no command specified|workdir .* does not exist|exec format error/i,
    reason: 'BadCommand',
    isFinal: true,
  },
];

export function startProblem(error: unknown): UnitProblem {
  if (error instanceof UnitProblem) return error;
  const message = error instanceof Error ? error.message : String(error);
  const kind = error instanceof EngineError && error.status !== 0 ? kinds.find(({ pattern }) => pattern.test(message)) : undefined;
  const { reason, isFinal } = kind ?? { reason: 'DriverUnavailable' as const, isFinal: false };
  return new UnitProblem(reason, message.slice(0, 2000), { isFinal, cause: error });
}

/** Engines report a command that cannot start as its output, with the code that a shell would use. */
export function isMissingCommand(code: number, output: string): boolean {
  return (
    (code === 126 || code === 127) && /OCI runtime (exec failed|attempted)|exec failed: unable to start container process/.test(output)
  );
}
