import type { StatusError } from '@capstan/machinery';
import type { Line } from './line.ts';
import { allowedInLine } from './scarce.ts';
import { Turns } from './turns.ts';

export interface Waiter {
  readonly line: Line;
  readonly deadline: number;
  readonly tenant: WaitingTenant;
  readonly user: WaitingUser;
  settle: ((error: StatusError | undefined) => void) | undefined;
}

/** The waiting requests of a tenant, whose users take turns. */
interface WaitingTenant {
  readonly name: string;
  readonly users: Map<string, WaitingUser>;
  readonly turns: Turns<WaitingUser>;
  /** How many waiters are left. */
  count: number;
}

/** The waiting requests of one user, oldest first. */
interface WaitingUser {
  readonly line: Line;
  readonly waiters: Waiter[];
  /** The index of the first waiter that may still be waiting. */
  head: number;
  /** How many waiters are left. */
  count: number;
}

export interface PoolOptions {
  readonly capacity: number;
  /** How many places one user of a tenant may hold. */
  readonly perUser: number;
}

/** The places of one class of requests, and those that wait for them. */
export class Pool {
  readonly capacity: number;
  running = 0;
  readonly #perUser: number;
  /** How many places tenants and their users hold. The names of users begin with that of their tenant, so one map has both. */
  readonly #running = new Map<string, number>();
  readonly #tenants = new Map<string, WaitingTenant>();
  readonly #turns = new Turns<WaitingTenant>();

  constructor({ capacity, perUser }: PoolOptions) {
    this.capacity = capacity;
    this.#perUser = perUser;
  }

  hasPlaceFor({ tenant, user }: Line): boolean {
    return this.#hasPlaceForTenant(tenant) && (user === tenant || (this.#running.get(user) ?? 0) < this.#perUser);
  }

  #hasPlaceForTenant(name: string): boolean {
    const { running, capacity } = this;
    if (running >= capacity) return false;
    return (this.#running.get(name) ?? 0) < allowedInLine({ taken: running, all: capacity, most: capacity });
  }

  take({ tenant, user }: Line): void {
    this.running++;
    this.#running.set(tenant, (this.#running.get(tenant) ?? 0) + 1);
    if (user !== tenant) this.#running.set(user, (this.#running.get(user) ?? 0) + 1);
  }

  giveBack({ tenant, user }: Line): void {
    this.running--;
    this.#giveBack(tenant);
    if (user !== tenant) this.#giveBack(user);
  }

  #giveBack(name: string): void {
    const left = this.#running.get(name)! - 1;
    if (left === 0) this.#running.delete(name);
    else this.#running.set(name, left);
  }

  /** How many requests of the tenant and of the user wait. */
  waitingOf({ tenant, user }: Line): { readonly tenant: number; readonly user: number } {
    const waiting = this.#tenants.get(tenant);
    return { tenant: waiting?.count ?? 0, user: waiting?.users.get(user)?.count ?? 0 };
  }

  add(line: Line, deadline: number, settle: Waiter['settle']): Waiter {
    let tenant = this.#tenants.get(line.tenant);
    if (tenant === undefined) {
      tenant = { name: line.tenant, users: new Map(), turns: new Turns(), count: 0 };
      this.#tenants.set(line.tenant, tenant);
      this.#turns.push(tenant);
    }
    let user = tenant.users.get(line.user);
    if (user === undefined) {
      user = { line, waiters: [], head: 0, count: 0 };
      tenant.users.set(line.user, user);
      tenant.turns.push(user);
    }
    const waiter: Waiter = { line, deadline, tenant, user, settle };
    user.waiters.push(waiter);
    user.count++;
    tenant.count++;
    return waiter;
  }

  /** The oldest waiter of the next user of the next tenant that may have another place. */
  next(): Waiter | undefined {
    return this.#turns.next((tenant) => ({
      // A tenant that may have no more is not searched, however many users of it wait.
      found: tenant.count > 0 && this.#hasPlaceForTenant(tenant.name) ? this.#nextOf(tenant) : undefined,
      stays: tenant.count > 0 || !this.#tenants.delete(tenant.name),
    }));
  }

  #nextOf({ turns, users }: WaitingTenant): Waiter | undefined {
    return turns.next((user) => ({
      found: user.count > 0 && this.hasPlaceFor(user.line) ? oldest(user) : undefined,
      stays: user.count > 0 || !users.delete(user.line.user),
    }));
  }
}

/** One that waits no longer. */
export function forget({ tenant, user }: Waiter): void {
  tenant.count--;
  user.count--;
}

function oldest(line: WaitingUser): Waiter | undefined {
  while (line.head < line.waiters.length) {
    const waiter = line.waiters[line.head++]!;
    if (line.head > 1024 && line.head * 2 > line.waiters.length) {
      line.waiters.splice(0, line.head);
      line.head = 0;
    }
    if (waiter.settle === undefined) continue;
    forget(waiter);
    return waiter;
  }
  return undefined;
}
