import { status } from '@capstan/machinery';
import { accepted, type Format, formatOf, readClauses } from '../http/negotiate.ts';

/**
 * Versions of `apidiscovery.k8s.io`. Kubernetes no longer serves v2beta1, but kubectl before 1.30 knows no other, and would
 * otherwise send a request per version of each group.
 */
export type AggregatedVersion = 'v2' | 'v2beta1';

export interface NegotiatedDocument {
  readonly format: Format;
  /** All groups and resources in one document, instead of the requested one. */
  readonly aggregated: AggregatedVersion | undefined;
}

/** Negotiates the format of a discovery document. Only `/api` and `/apis` have an aggregated form. */
export function negotiateDocument(accept: string | undefined, canAggregate: boolean): NegotiatedDocument {
  if (accept === undefined || accept === '') return { format: 'json', aggregated: undefined };
  for (const { type, parameters } of readClauses(accept)) {
    const format = formatOf(type);
    if (format === undefined) continue;
    const form = parameters.get('as');
    if (form === undefined) return { format, aggregated: undefined };
    const version = parameters.get('v');
    const isKnown = form === 'APIGroupDiscoveryList' && parameters.get('g') === 'apidiscovery.k8s.io';
    if (canAggregate && isKnown && (version === 'v2' || version === 'v2beta1')) return { format, aggregated: version };
  }
  throw status.notAcceptable(accepted);
}
