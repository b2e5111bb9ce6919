import { createHash } from 'node:crypto';

export const apisGroup = 'apis.kcp.io';
export const apiExports = { group: apisGroup, resource: 'apiexports' } as const;

/** Keeps a binding until everything that it brought is gone. */
export const bindingFinalizer = 'apis.kcp.io/apibinding-finalizer';

/** On a binding: which export it is of, so that all bindings of one can be selected. */
export const exportLabel = 'internal.apis.kcp.io/export';

/** How the labels begin that say who has a claim on an object. They are shown, and never stored. */
export const claimLabelPrefix = 'claimed.internal.apis.kcp.io/';

/** What a watch is seen through that selects by those labels, in a workspace or in all: it begins again when they become others. */
export const claimsName = (cluster: string): string => `claims/${cluster}/`;

/** How many exports are remembered. */
const capacity = 5_000;
const values = new Map<string, string>();

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The value of the label. `cluster` is the id of the export's workspace. */
export function exportLabelValue(cluster: string, name: string): string {
  const key = `${cluster}:${name}`;
  let value = values.get(key);
  if (value === undefined) {
    if (values.size >= capacity) values.clear();
    values.set(key, (value = base62(createHash('sha224').update(key).digest('hex'))));
  }
  return value;
}

/** A number that is written in hexadecimal digits, in fewer. */
export function base62(hex: string): string {
  let rest = BigInt(`0x${hex}`);
  let text = '';
  for (; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}
