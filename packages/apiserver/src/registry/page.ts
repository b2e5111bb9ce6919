import type { Exchange } from '../http/exchange.ts';
import type { RequestInfo } from './scope.ts';

/** Serves a path that is not a resource and, if the path ends in a slash, all paths below it. */
export type Page = (exchange: Exchange, info: RequestInfo) => void | Promise<void>;
