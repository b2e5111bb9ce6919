import { status } from '@capstan/machinery';
import { accepted, type Format, formatOf, readClauses } from '../http/negotiate.ts';

/** Of `apidiscovery.k8s.io`. Kubernetes itself no longer tells the older; kubectl before 1.30 knows no other, and would ask once for each version of each group. */
export type AggregatedVersion = 'v2' | 'v2beta1';

export interface NegotiatedDocument {
  readonly format: Format;
  /** All groups and resources in one answer, instead of the document that was asked for. */
  readonly aggregated: AggregatedVersion | undefined;
}

/** How a document about what is served is wanted. Only `/api` and `/apis` have the aggregated form. */
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
