/** Where API servers ask each other for tunnels. */
export const relayPath = '/capstan/relay';
