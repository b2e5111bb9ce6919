import { appReportsPath, appTokenPrefix, auditPath, usagePath } from '@capstan/api';
import { type Attack, asking } from './means.ts';

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Attacks on pages that are no Kubernetes objects. */
export const onPages: readonly (readonly [string, Attack])[] = [
  [
    'queries of the audit log, 16 connections',
    asking(16, ({ attacker }, index) => ({
      method: 'GET',
      path: `/clusters/${attacker.cluster}${auditPath}?limit=500&verb=delete&resource=r${index}`,
    })),
  ],
  [
    'reports of usage, 16 connections',
    asking(16, ({ attacker }) => ({ method: 'GET', path: `/clusters/${attacker.cluster}${usagePath}?from=2020-01-01&groupBy=day` })),
  ],
  [
    'app reports with bad tokens, 32 connections',
    asking(
      32,
      (_world, index) => ({
        method: 'POST',
        path: `${appReportsPath}root:main/default/app-${index}`,
        headers: {
          authorization: `Bearer ${appTokenPrefix}${encoded({ alg: 'RS256' })}.${encoded({ sub: `${index}` })}.${'x'.repeat(342)}`,
        },
        body: JSON.stringify({ phase: 'x'.repeat(128) }),
      }),
      'nobody',
    ),
  ],
];
