export type { ProviderOptions } from './oidc/provider.ts';
export { type Console, type ConsoleLimits, type ConsoleOptions, startConsole } from './process/console.ts';
