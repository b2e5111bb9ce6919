import { expect } from 'vitest';

/** Evaluates JavaScript in a process of Node, through its inspector, which a signal opens. `outputOf` returns what the process has printed so far. */
export async function evaluateIn(pid: number, outputOf: () => string, expression: string): Promise<void> {
  process.kill(pid, 'SIGUSR1');
  await expect.poll(() => outputOf(), { timeout: 10_000 }).toMatch(/Debugger listening on ws:/);
  const socket = new WebSocket(/Debugger listening on (ws:\S+)/.exec(outputOf())![1]!);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } }));
  await new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }));
  socket.close();
}
