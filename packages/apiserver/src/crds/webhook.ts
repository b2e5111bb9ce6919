import type { ObjectReader } from '../cache/reader.ts';
import { plainConversion } from './conversion.ts';
import type { WebhookConversion } from './definition.ts';

/** Conversion by a webhook of the kind's author. */
export function webhookConversion(_objects: ObjectReader): WebhookConversion {
  return (parts) => plainConversion(parts);
}
