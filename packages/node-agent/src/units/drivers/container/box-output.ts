/** The output of one run of a container, in files with Kubernetes' CRI log format. */
export interface BoxOutput {
  /** From now on, everything that the program writes is kept. It does not keep the process alive. */
  keep(): void;
  /** Resolves when all output of a program that has ended is in the files. */
  finish(): Promise<void>;
  close(): void;
  /** Oldest first. */
  files(): Promise<string[]>;
}
