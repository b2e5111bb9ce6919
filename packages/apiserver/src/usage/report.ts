import { type UsageAmounts, type UsageFact, type UsageGroup, type UsageReport, usageGroups } from '@capstan/api';
import { parseTime, status } from '@capstan/machinery';

/** Times in milliseconds since 1970. */
export interface UsageQuery {
  readonly from: number;
  readonly to: number;
  readonly groupBy: UsageGroup;
}

const day = 86_400_000;
const gib = 2 ** 30;
/** Days are listed one by one. */
const longestTime = 10 * 366 * day;

/** Parses the parameters of a query. By default this month, by workspace. */
export function parseUsageQuery(parameter: (name: string) => string | undefined, now: Date): UsageQuery {
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const from = timeOf('from', parameter('from')) ?? month;
  const to = timeOf('to', parameter('to')) ?? now.getTime();
  const group = parameter('groupBy') || 'workspace';
  const groupBy = usageGroups.find((one) => one === group);
  if (groupBy === undefined) throw status.badRequest(`groupBy: expected one of ${usageGroups.join(', ')}, found ${JSON.stringify(group)}`);
  if (to < from) throw status.badRequest('to: expected a time that is not before "from"');
  if (to - from > longestTime) throw status.badRequest('from: expected at most ten years before "to"');
  return { from, to, groupBy };
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const value = parseTime(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (value !== undefined) return value.getTime();
  throw status.badRequest(
    `${name}: expected a day such as 2026-01-02, or a time such as 2026-01-02T15:04:05Z, found ${JSON.stringify(text)}`,
  );
}

/** Adds up facts. Sums are whole numbers until the end, so that their order does not matter. */
export class UsageSums {
  readonly #query: UsageQuery;
  readonly #now: number;
  readonly #total = new Sum();
  readonly #groups = new Map<string, Sum>();

  /** `now` ends what has no end yet. */
  constructor(query: UsageQuery, now: Date) {
    this.#query = query;
    this.#now = now.getTime();
  }

  add(fact: UsageFact): void {
    const { from, to, groupBy } = this.#query;
    const begin = Math.max(Date.parse(fact.begin), from);
    const end = Math.min(fact.end === undefined ? this.#now : Date.parse(fact.end), to);
    if (!(end > begin)) return;
    this.#total.add(fact, end - begin);
    if (groupBy === 'day') {
      for (let at = begin; at < end; ) {
        const next = Math.min((Math.floor(at / day) + 1) * day, end);
        this.#group(new Date(at).toISOString().slice(0, 10)).add(fact, next - at);
        at = next;
      }
    } else this.#group(fact[groupBy]).add(fact, end - begin);
  }

  #group(key: string): Sum {
    const known = this.#groups.get(key) ?? new Sum();
    this.#groups.set(key, known);
    return known;
  }

  report(): UsageReport {
    const { from, to, groupBy } = this.#query;
    const items = [...this.#groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, sum]) => ({ key, ...sum.amounts() }));
    return { from: new Date(from).toISOString(), to: new Date(to).toISOString(), groupBy, items, total: this.#total.amounts() };
  }
}

class Sum {
  #gpu = 0n;
  #cpu = 0n;
  #memory = 0n;
  #storage = 0n;
  readonly #allocations = new Set<string>();

  add({ gpus, cpu, memory, storage, uid }: UsageFact, milliseconds: number): void {
    const time = BigInt(milliseconds);
    this.#gpu += BigInt(gpus) * time;
    this.#cpu += BigInt(cpu) * time;
    this.#memory += BigInt(memory) * time;
    if (storage === undefined) this.#allocations.add(uid);
    else this.#storage += BigInt(storage) * time;
  }

  amounts(): UsageAmounts {
    return {
      gpuSeconds: Number(this.#gpu) / 1_000,
      coreSeconds: Number(this.#cpu) / 1_000_000,
      memoryGibSeconds: Number(this.#memory) / 1_000 / gib,
      storageGibSeconds: Number(this.#storage) / 1_000 / gib,
      allocations: this.#allocations.size,
    };
  }
}
