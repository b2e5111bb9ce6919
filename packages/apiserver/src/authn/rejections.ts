import { Trouble, type TroubleFacts } from '@capstan/machinery';
import type { Fault, Unauthenticated } from './user.ts';

/** For those who run the server. Nothing of a token is ever told: its bearer may have written anything into it. */
const reasons: Readonly<Record<Fault, string>> = {
  'unknown-key': 'signed by an unknown key, such as that of another installation',
  'unknown-issuer': 'of an issuer that is not configured here',
  'unknown-token': 'not known here',
  expired: 'expired',
  revoked: 'of a service account, or bound to an object, that is gone',
  'issuer-out-of-reach': 'of an issuer that cannot be asked for its keys',
  certificate: 'expired, or not meant for clients',
  other: 'not valid here',
};

/** More addresses than this are only counted. */
const mostAddresses = 100;

/** Tells of credentials that were rejected: one line for each reason at first, then how many there were, however many come. */
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

  /** To be called now and then, so that those which have ended are told of soon. */
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
