/** How lists can be printed other than as a table. */
export const outputFormats = ['json', 'yaml', 'wide'] as const;
export type OutputFormat = (typeof outputFormats)[number];
