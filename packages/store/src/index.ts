export * from './contract.ts';
export { makeDirectory } from './directory.ts';
export { type EtcdStoreOptions, openEtcdStore } from './etcd/open.ts';
export { compareKeys, prefixRange } from './keys.ts';
export { checkExport, exportStore, importStore } from './portable.ts';
export { openSqliteStore, type SqliteStoreOptions, startRevisionsAfter } from './sqlite/open.ts';
export { restoreSqliteSnapshot } from './sqlite/restore.ts';
