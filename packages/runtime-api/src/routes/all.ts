import { aboutRoutes } from './about.ts';
import type { Route } from './route.ts';
import { productRoutes } from './table.ts';

/** Every route, for documents and clients that are made of them. */
export const allRoutes: readonly Route[] = [...productRoutes, ...aboutRoutes(productRoutes, { problem: () => Promise.resolve(undefined) })];
