// The programs of the websocket measurements: clients, and the provider that they end at.
import { fileURLToPath } from 'node:url';
import { Child } from '../children.ts';
import type { Stage } from '../stage.ts';

export interface TurnReport {
  readonly completed: number;
  readonly failed: number;
}

/** Clients whose connections are open. */
export interface Clients {
  /** Turns on every connection, one after the other, for so long. */
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

/** The stage with a provider that speaks websocket. @returns also what stops it */
export async function withWebsockets(stage: Stage): Promise<{ readonly stage: Stage; stop(): Promise<void> }> {
  const child = new Child(stage.cores.pinned('upstream', [process.execPath, program('upstream')]));
  const [, port] = await child.line(/^ready (\d+)$/);
  return { stage: { ...stage, upstream: { port: Number(port) } }, stop: () => child.kill() };
}
