import type { App } from '@capstan/api';

export const defaultVersion = ({ spec: { versions } }: App): string =>
  (versions.find(({ isDefault }) => isDefault) ?? versions[0])?.name ?? '';

const supports: Readonly<Record<App['spec']['support'], { readonly word: string; readonly meaning: string }>> = {
  managed: { word: 'Managed', meaning: 'The platform operates instances.' },
  'self-managed': { word: 'Self-managed', meaning: 'You operate instances; the platform deploys, repairs and removes them.' },
  community: { word: 'Community', meaning: 'You operate instances. The platform only runs their steps.' },
};

/** Who operates instances of the app. */
export const supportOf = ({ spec }: App): { readonly word: string; readonly meaning: string } => supports[spec.support];
