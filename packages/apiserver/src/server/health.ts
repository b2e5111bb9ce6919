import type { Exchange } from '../http/exchange.ts';

export interface HealthCheck {
  readonly name: string;
  /** Undefined when all is well, otherwise what is wrong. */
  readonly problem: () => string | undefined;
  /** Checks of `/readyz` only: the process lives without them. */
  readonly readyOnly?: boolean;
}

/** `/livez`, `/readyz` and `/healthz`, whole or one check at a time. */
export class Health {
  readonly #checks: HealthCheck[] = [{ name: 'ping', problem: () => undefined }];

  add(check: HealthCheck): void {
    this.#checks.push(check);
  }

  answer(exchange: Exchange, asked: { endpoint: string; check: string | undefined; verbose: boolean; exclude: readonly string[] }): void {
    const { endpoint, check, verbose, exclude } = asked;
    const checks = this.#checks.filter(({ readyOnly }) => readyOnly !== true || endpoint !== 'livez');
    if (check !== undefined) return this.#one(exchange, checks, check);
    const lines: string[] = [];
    let failed = false;
    for (const { name, problem } of checks) {
      if (exclude.includes(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const why = problem();
      failed ||= why !== undefined;
      lines.push(why === undefined ? `[+]${name} ok` : `[-]${name} failed: ${why}`);
    }
    exchange.header('X-Content-Type-Options', 'nosniff');
    if (failed) return text(exchange, 500, `${lines.join('\n')}\n${endpoint} check failed\n`);
    text(exchange, 200, verbose ? `${lines.join('\n')}\n${endpoint} check passed\n` : 'ok');
  }

  #one(exchange: Exchange, checks: readonly HealthCheck[], name: string): void {
    const found = checks.find((check) => check.name === name);
    if (found === undefined) {
      exchange.header('X-Content-Type-Options', 'nosniff');
      return text(exchange, 404, '404 page not found\n');
    }
    const why = found.problem();
    text(exchange, why === undefined ? 200 : 500, why === undefined ? 'ok' : `internal server error: ${why}\n`);
  }
}

function text(exchange: Exchange, code: number, body: string): void {
  exchange.send({ code, type: 'text/plain; charset=utf-8', body });
}
