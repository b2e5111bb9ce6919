/** Reports promises of products that were rejected and that nobody awaited, instead of ending the process and so all other products. */
export function reportRejections(log: (line: string) => void): Disposable {
  const report = (error: unknown): void =>
    log(`a promise was rejected and nobody awaited it: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.on('unhandledRejection', report);
  return { [Symbol.dispose]: () => void process.off('unhandledRejection', report) };
}
