export type { NodeConnection, NodeRequest, NodeResponse } from './node-connection.ts';
