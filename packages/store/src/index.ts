export * from './contract.ts';
export { compareKeys, prefixRange } from './keys.ts';
export { openSqliteStore, type SqliteStoreOptions } from './sqlite/open.ts';
