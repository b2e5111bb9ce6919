/**
 * For informers of agents. Their watches last for hours, because every other one begins with a handshake, which costs the server more than the watch itself. Connections that
 * are dead are noticed by the kernel, by missing bookmarks, and when a heartbeat fails.
 */
export const agentWatch = { oneWorkspace: true, watchSeconds: 3_600 } as const;
