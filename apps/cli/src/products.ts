import { apps } from '@capstan/apps';
import { compute } from '@capstan/compute';
import { fleetProduct, type NodeOptions } from '@capstan/fleet';
import type { Product } from '@capstan/platform';
import { operator } from '@capstan/runtime-api';

/** The products of this Capstan: `capstan platform-controllers` installs them and runs their controllers. */
export const productsWith = (nodes: NodeOptions): readonly Product[] => [fleetProduct(nodes), compute, apps, operator];
