import { createInterface } from 'node:readline';
import { UnitProblem } from '../driver.ts';
import { registryAuth, registryOf } from './credentials.ts';
import { type Engine, EngineError } from './engine.ts';

export interface PullOptions {
  /** Of the path of the request. */
  readonly prefix: string;
  readonly pullConfig?: string | undefined;
  readonly onStep: (step: string) => void;
  readonly signal: AbortSignal;
}

/** One line of the answer of both engines. */
interface Progress {
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
}

/** Fetches an image with the request that both engines have, and says how much of it is here. Rejects with a UnitProblem. */
export async function pullImage(engine: Engine, image: string, { prefix, pullConfig, onStep, signal }: PullOptions): Promise<void> {
  if (registryOf(image).host === 'localhost')
    throw new UnitProblem('ImageMissing', `the image ${image} is not on this node, and images of localhost are never pulled`, {
      isFinal: true,
    });
  const auth = registryAuth(image, pullConfig);
  const layers = new Layers();
  let said = '';
  const say = (step: string): void => {
    if (step !== said) onStep((said = step));
  };
  say(`pulls image ${image}`);
  try {
    const body = await engine.stream({
      method: 'POST',
      path: `${prefix}/images/create?fromImage=${encodeURIComponent(withTag(image))}`,
      ...(auth !== undefined && { headers: { 'x-registry-auth': auth } }),
      signal,
    });
    for await (const line of createInterface(body)) {
      if (line.trim() === '') continue;
      const progress = JSON.parse(line) as Progress;
      const error = progress.errorDetail?.message ?? progress.error;
      if (error !== undefined) throw new EngineError(500, error);
      layers.add(progress);
      if (layers.percent !== undefined) say(`pulls image ${image} ${layers.percent} %`);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw problemOf(image, error as Error);
  }
}

/** Without a tag, Docker would pull all of them. */
function withTag(image: string): string {
  return /(:[^/]*|@[^/]*)$/.test(image) ? image : `${image}:latest`;
}

class Layers {
  readonly #sizes = new Map<string, { readonly current: number; readonly total: number }>();

  add({ id, status, progressDetail }: Progress): void {
    // Docker's first line has the tag as its id.
    if (id === undefined || /^pulling from/i.test(status ?? '')) return;
    const { current = 0, total = 0 } = progressDetail ?? {};
    const size = Math.max(total, this.#sizes.get(id)?.total ?? 1);
    if (/complete|exists/i.test(status ?? '')) this.#sizes.set(id, { current: size, total: size });
    else if (/^(pulling|downloading)/i.test(status ?? '')) this.#sizes.set(id, { current: Math.min(current, size), total: size });
  }

  /** Of the bytes, as far as the engine says how many there are; small layers count as one. Undefined at the beginning. */
  get percent(): number | undefined {
    const all = [...this.#sizes.values()];
    const total = all.reduce((sum, layer) => sum + layer.total, 0);
    return total === 0 ? undefined : Math.floor((100 * all.reduce((sum, layer) => sum + layer.current, 0)) / total);
  }
}

/** Engines pass on what a registry has said as text only. */
const kinds: readonly { readonly pattern: RegExp; readonly reason: UnitProblem['reason']; readonly isFinal: boolean }[] = [
  { pattern: /no space left|disk quota exceeded/i, reason: 'DiskFull', isFinal: false },
  { pattern: /toomanyrequests|too many requests|429|rate limit/i, reason: 'RegistryUnavailable', isFinal: false },
  {
    pattern:
      /manifest unknown|name unknown|not found: manifest|repository name not known|no such image|status(?: code)?:? 404|reading manifest .*404/i,
    reason: 'ImageMissing',
    isFinal: true,
  },
  {
    pattern:
      /unauthorized|authentication required|access (?:to the resource )?is? ?denied|denied:|forbidden|invalid username|status(?: code)?:? 40[13]/i,
    reason: 'RegistryRefused',
    isFinal: true,
  },
  { pattern: /invalid reference format|unsupported digest/i, reason: 'ImageMissing', isFinal: true },
  { pattern: /no image found in .* for architecture|no matching manifest for/i, reason: 'ImageMissing', isFinal: true },
];

export function problemOf(image: string, error: Error): UnitProblem {
  if (error instanceof EngineError && error.status === 0) return new UnitProblem('DriverUnavailable', error.message, { cause: error });
  const { reason, isFinal } = kinds.find(({ pattern }) => pattern.test(error.message)) ?? { reason: 'RegistryUnavailable', isFinal: false };
  return new UnitProblem(reason, `the image ${image} cannot be pulled: ${error.message}`.slice(0, 2000), { isFinal, cause: error });
}
