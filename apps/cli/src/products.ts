import { compute } from '@capstan/compute';
import { fleet } from '@capstan/fleet';
import type { Product } from '@capstan/platform';

/** The products of this Capstan: `capstan platform-controllers` installs them and runs their controllers. */
export const products: readonly Product[] = [fleet, compute];
