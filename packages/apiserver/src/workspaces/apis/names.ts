import { createHash } from 'node:crypto';

export const apisGroup = 'apis.kcp.io';
export const apiExports = { group: apisGroup, resource: 'apiexports' } as const;

/** Keeps a binding until everything that it brought is gone. */
export const bindingFinalizer = 'apis.kcp.io/apibinding-finalizer';

/** On a binding: which export it is of, so that all bindings of one can be selected. */
export const exportLabel = 'internal.apis.kcp.io/export';

const digits = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** The value of the label. `cluster` is the id of the export's workspace. */
export function exportLabelValue(cluster: string, name: string): string {
  let rest = BigInt(`0x${createHash('sha224').update(`${cluster}:${name}`).digest('hex')}`);
  let text = '';
  for (; rest > 0n; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}
