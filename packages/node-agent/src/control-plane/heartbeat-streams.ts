import { HeartbeatSender, type TunnelRequest } from '@capstan/streams';

/** The streams for heartbeats that servers have opened in their tunnels. Servers of earlier versions open none. */
export class HeartbeatStreams {
  readonly #open = new Map<string, HeartbeatSender>();

  /** Answers the request of a server that has this URL. */
  serve(server: string, request: TunnelRequest): void {
    const sender = new HeartbeatSender(request.respond(200));
    this.#open.set(server, sender);
    // Another tunnel to the same server may be open by then.
    const forget = (): void => void (this.#open.get(server) === sender && this.#open.delete(server));
    request.signal.addEventListener('abort', forget, { once: true });
  }

  /** The stream of the first of these servers that has one and answers. */
  first(servers: readonly string[]): HeartbeatSender | undefined {
    for (const server of servers) {
      const sender = this.#open.get(server);
      if (sender?.isFree === true) return sender;
    }
    return undefined;
  }
}
