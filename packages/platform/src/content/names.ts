import type { KindDefinition } from '@capstan/api';

interface Named {
  readonly name: string;
}

export { productsNamespace } from '@capstan/api';

/** The ConfigMap that says how far each product is installed. */
export const statesName = 'products';

/** The export that tenants bind. */
export const exportName = ({ name }: Named): string => `${name}.capstan.dev`;

/** The export of a product with catalogs that root:platform binds: there, the objects of catalogs are stored instead of read from elsewhere. */
export const platformExportName = ({ name }: Named): string => `platform.${name}.capstan.dev`;

/** The service account of a product's controllers. */
export const accountName = ({ name }: Named): string => name;

/** The rights of the account in root:platform. */
export const accountRoleName = ({ name }: Named): string => `capstan:product:${name}`;

/** The most that tenants may do with the kinds of a product. */
export const tenantRoleName = ({ name }: Named): string => `capstan:product:${name}:tenants`;

/** The right of some groups to write the status of the kinds. */
export const reporterRoleName = ({ name }: Named): string => `capstan:product:${name}:reporters`;

/** A CachedResource, and its endpoint slice. */
export const catalogName = ({ group, resource }: KindDefinition): string => `${resource}.${group}`;
