// A lock between processes. The system releases it when its holder ends.
import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Waits until no other process holds `name`, and returns the release. The lock is a listening socket: the system closes it with its
 * process, so that no stale lock remains. Waiting processes are connected to it and see it close.
 * @param {string} name
 * @param {() => void} onWait called each time another process holds the lock
 * @returns {Promise<() => void>}
 */
export async function lock(name, onWait) {
  const address = addressOf(name);
  for (;;) {
    const release = await hold(address);
    if (release) return release;
    onWait();
    await holderGone(address);
  }
}

/** @param {string} name */
function addressOf(name) {
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), `${name}.sock`);
}

/**
 * @param {string} address
 * @returns {Promise<(() => void) | undefined>} undefined: held by another process
 */
function hold(address) {
  /** @type {Set<import('node:net').Socket>} */
  const waiting = new Set();
  const server = createServer((socket) => {
    waiting.add(socket.unref());
    socket.on('error', () => {}).on('close', () => waiting.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.on('error', (error) => (codeOf(error) === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(address, () => {
      server.unref();
      resolve(() => {
        server.close();
        for (const socket of waiting) socket.destroy();
      });
    });
  });
}

/** @param {string} address */
function holderGone(address) {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.on('error', (error) => {
      // A socket in the file system remains after its process has ended; no process answers there.
      if (codeOf(error) === 'ECONNREFUSED' && !address.startsWith('\0')) rmSync(address, { force: true });
    });
    socket.on('close', resolve).resume();
  });
}

/** @param {Error} error */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code;
