import type { Exchange } from '../http/exchange.ts';

export interface HealthCheck {
  readonly name: string;
  /** Undefined if the check passes, otherwise the problem. */
  readonly problem: () => string | undefined;
  /** A check of `/readyz` only: the process is alive without it. */
  readonly readyOnly?: boolean;
}

const endpoints = ['healthz', 'livez', 'readyz'] as const;

/** `/livez`, `/readyz` and `/healthz`, whole or per check, and the metrics of their results. */
export class Health {
  readonly #checks: HealthCheck[] = [{ name: 'ping', problem: () => undefined }];
  /** How often a check was requested, by its labels. */
  readonly #asked = new Map<string, number>();

  add(check: HealthCheck): void {
    this.#checks.push(check);
  }

  answer(exchange: Exchange, asked: { endpoint: string; check: string | undefined; verbose: boolean; exclude: readonly string[] }): void {
    const { endpoint, check, verbose, exclude } = asked;
    const checks = this.#checksOf(endpoint);
    if (check !== undefined) return this.#one(exchange, { checks, name: check, endpoint });
    const lines: string[] = [];
    let failed = false;
    for (const { name, problem } of checks) {
      if (exclude.includes(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const why = this.#ask({ name, problem }, endpoint);
      failed ||= why !== undefined;
      lines.push(why === undefined ? `[+]${name} ok` : `[-]${name} failed: ${why}`);
    }
    exchange.header('X-Content-Type-Options', 'nosniff');
    if (failed) return text(exchange, 500, `${lines.join('\n')}\n${endpoint} check failed\n`);
    text(exchange, 200, verbose ? `${lines.join('\n')}\n${endpoint} check passed\n` : 'ok');
  }

  /** `/metrics/slis`: the current results of the checks, and counts of those that were requested. */
  indicators(): string {
    const lines = ['# HELP kubernetes_healthcheck Whether a check passes now.', '# TYPE kubernetes_healthcheck gauge'];
    for (const endpoint of endpoints) {
      for (const { name, problem } of this.#checksOf(endpoint))
        lines.push(`kubernetes_healthcheck{name="${name}",type="${endpoint}"} ${problem() === undefined ? 1 : 0}`);
    }
    lines.push(
      '# HELP kubernetes_healthchecks_total How often a check was requested, and whether it passed.',
      '# TYPE kubernetes_healthchecks_total counter',
    );
    for (const [labels, count] of this.#asked) lines.push(`kubernetes_healthchecks_total{${labels}} ${count}`);
    return `${lines.join('\n')}\n`;
  }

  #checksOf(endpoint: string): readonly HealthCheck[] {
    return this.#checks.filter(({ readyOnly }) => readyOnly !== true || endpoint !== 'livez');
  }

  #ask({ name, problem }: HealthCheck, endpoint: string): string | undefined {
    const why = problem();
    const labels = `name="${name}",status="${why === undefined ? 'success' : 'error'}",type="${endpoint}"`;
    this.#asked.set(labels, (this.#asked.get(labels) ?? 0) + 1);
    return why;
  }

  #one(exchange: Exchange, { checks, name, endpoint }: { checks: readonly HealthCheck[]; name: string; endpoint: string }): void {
    const found = checks.find((check) => check.name === name);
    if (found === undefined) {
      exchange.header('X-Content-Type-Options', 'nosniff');
      return text(exchange, 404, '404 page not found\n');
    }
    const why = this.#ask(found, endpoint);
    text(exchange, why === undefined ? 200 : 500, why === undefined ? 'ok' : `internal server error: ${why}\n`);
  }
}

function text(exchange: Exchange, code: number, body: string): void {
  exchange.send({ code, type: 'text/plain; charset=utf-8', body });
}
