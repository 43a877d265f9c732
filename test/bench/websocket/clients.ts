// The programs of the websocket measurements: the clients, and the provider behind the relay.
import { fileURLToPath } from 'node:url';
import { Child } from '../children.ts';
import type { Stage } from '../stage.ts';

export interface TurnReport {
  readonly completed: number;
  readonly failed: number;
}

/** Clients whose connections are open. */
export interface Clients {
  /** Runs turns on every connection, one after the other, for this time. */
  turns(seconds: number): Promise<TurnReport>;
  stop(): Promise<void>;
}

const program = (name: string): string => fileURLToPath(new URL(`${name}.ts`, import.meta.url));
const OPENING_MS = 120_000;
const MARGIN_MS = 30_000;

export async function startClients(
  stage: Stage,
  { port, path, key, connections }: { readonly port: number; readonly path: string; readonly key: string; readonly connections: number },
): Promise<Clients> {
  const command = [process.execPath, program('client'), String(port), path, key, String(connections)];
  const child = new Child(stage.cores.pinned('load', command));
  await child.line(/^steady$/, OPENING_MS);
  return {
    async turns(seconds) {
      child.process.stdin?.write(`${seconds}\n`);
      const [line] = await child.line(/^\{.*\}$/, seconds * 1_000 + MARGIN_MS);
      return JSON.parse(line) as TurnReport;
    },
    stop: () => child.kill(),
  };
}

/** A node that owns the sessions that are forwarded to it. */
export interface SessionOwner {
  readonly url: string;
  /** The number of turns that the owner has had. */
  turns(): Promise<number>;
  stop(): Promise<void>;
}

/** @param path the path of the owner's process @param frames the number of frames of a reply */
export async function startOwner(stage: Stage, path: string, secret: string, frames: number): Promise<SessionOwner> {
  const child = new Child(stage.cores.pinned('upstream', [process.execPath, program('owner'), path, secret, String(frames)]));
  const [, port] = await child.line(/^ready (\d+)$/);
  return {
    url: `http://127.0.0.1:${port}`,
    async turns() {
      child.process.stdin?.write('\n');
      return Number((await child.line(/^turns (\d+)$/))[1]);
    },
    stop: () => child.kill(),
  };
}

/**
 * Adds a provider that speaks websocket to the stage.
 * @param frames the number of frames of a reply
 * @returns the stage, and a function that stops the provider
 */
export async function withWebsockets(stage: Stage, frames = 1): Promise<{ readonly stage: Stage; stop(): Promise<void> }> {
  const child = new Child(stage.cores.pinned('upstream', [process.execPath, program('upstream'), String(frames)]));
  const [, port] = await child.line(/^ready (\d+)$/);
  return { stage: { ...stage, upstream: { port: Number(port) } }, stop: () => child.kill() };
}
