import { parseQuantity, QuantityError, scaledValue } from '@capstan/machinery';
import { Failure } from '../failure.ts';

/** The bytes that somebody has given with an option. */
export function bytesIn(option: string, text: string): number {
  try {
    return Number(scaledValue(parseQuantity(text)));
  } catch (error) {
    if (error instanceof QuantityError)
      throw new Failure('usage', `${option}: expected an amount such as 2Gi, found ${JSON.stringify(text)}.`, error);
    throw error;
  }
}
