import { Trouble, type TroubleFacts } from '@capstan/machinery';
import type { Fault, Unauthenticated } from './user.ts';

/** For operators. Nothing from a token is logged, because its sender may have written anything into it. */
const reasons: Readonly<Record<Fault, string>> = {
  'unknown-key': 'signed by an unknown key, such as that of another installation',
  'unknown-issuer': 'of an issuer that is not configured here',
  'unknown-token': 'not known here',
  expired: 'expired',
  revoked: 'of a service account, or bound to an object, that was deleted',
  'issuer-out-of-reach': 'of an issuer whose keys cannot be fetched',
  certificate: 'expired, or not meant for clients',
  other: 'not valid here',
};

/** Addresses beyond this number are not counted. */
const mostAddresses = 100;

/** Logs rejected credentials: one line per reason at first, then only counts, however many are rejected. */
export class Rejections {
  readonly #log: (line: string) => void;
  readonly #now: () => number;
  readonly #byFault = new Map<Fault, { readonly trouble: Trouble; readonly addresses: Set<string> }>();

  constructor({ log, now }: { readonly log: (line: string) => void; readonly now: () => number }) {
    this.#log = log;
    this.#now = now;
  }

  add({ fault }: Unauthenticated, address: string): void {
    let known = this.#byFault.get(fault);
    if (known === undefined) this.#byFault.set(fault, (known = this.#begin(fault)));
    if (known.addresses.size < mostAddresses) known.addresses.add(address);
    known.trouble.report(address);
  }

  /** Call this periodically, so that the end of a series is logged soon. */
  settle(): void {
    for (const { trouble } of this.#byFault.values()) trouble.settle();
  }

  #begin(fault: Fault): { trouble: Trouble; addresses: Set<string> } {
    const what = fault === 'certificate' ? 'client certificate' : 'token';
    const addresses = new Set<string>();
    const more = ({ reports, sinceLine }: TroubleFacts): string => {
      const line = `rejected ${reports} more ${what}${reports === 1 ? '' : 's'} within ${sinceLine}, from ${listed(addresses)}: ${reasons[fault]}`;
      addresses.clear();
      return line;
    };
    const trouble = new Trouble({
      log: this.#log,
      begins: (address) => `rejected a ${what} from ${address}: ${reasons[fault]}`,
      lasts: (_, facts) => more(facts),
      ends: (facts) => (facts.reports === 0 ? undefined : `${more(facts)}; none since`),
      now: this.#now,
    });
    return { trouble, addresses };
  }
}

function listed(addresses: ReadonlySet<string>): string {
  const [first = 'nowhere', ...others] = addresses;
  if (others.length === 0) return first;
  return `${first} and ${addresses.size === mostAddresses ? 'at least ' : ''}${others.length} other address${others.length === 1 ? '' : 'es'}`;
}
