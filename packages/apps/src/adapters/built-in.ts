import type { AdapterRegistration } from '../adapter/registration.ts';

/** The adapters that are a part of Capstan. */
export const builtInAdapters: readonly AdapterRegistration[] = [];
