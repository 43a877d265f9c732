// The bytes of a client's request for an upgrade to a websocket.

export const upgradeRequest = (path: string, key: string): Buffer =>
  Buffer.from(
    `GET ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${key}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
