import { Child } from '../child.ts';
import { childrenOf } from './machine.ts';

/** A program on a host. Signals reach the program itself, which is a child of the one that entered the host. */
export class HostProcess extends Child {
  /** As this machine counts; that of the program that enters the host until it has. */
  override get pid(): number {
    return childrenOf(super.pid)[0] ?? super.pid;
  }

  override signal(name: NodeJS.Signals): void {
    if (!this.running) return;
    for (const pid of new Set([this.pid, ...(name === 'SIGCONT' ? [super.pid] : [])])) {
      try {
        // The one that entered the host stops itself when its child does.
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  /** Continues it after `pause`. */
  resume(): void {
    this.signal('SIGCONT');
  }
}
