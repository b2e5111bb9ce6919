import { status } from '@capstan/machinery';
import { accepted, type Format, formatOf, readClauses } from '../http/negotiate.ts';

export interface NegotiatedDocument {
  readonly format: Format;
  /** All groups and resources in one answer, instead of the document that was asked for. */
  readonly aggregated: boolean;
}

/** How a document about what is served is wanted. Only `/api` and `/apis` have the aggregated form. */
export function negotiateDocument(accept: string | undefined, canAggregate: boolean): NegotiatedDocument {
  if (accept === undefined || accept === '') return { format: 'json', aggregated: false };
  for (const { type, parameters } of readClauses(accept)) {
    const format = formatOf(type);
    if (format === undefined) continue;
    const form = parameters.get('as');
    if (form === undefined) return { format, aggregated: false };
    const isKnown = form === 'APIGroupDiscoveryList' && parameters.get('g') === 'apidiscovery.k8s.io' && parameters.get('v') === 'v2';
    if (isKnown && canAggregate) return { format, aggregated: true };
  }
  throw status.notAcceptable(accepted);
}
