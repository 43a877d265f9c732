// A measured process: its start, its resources and its stop.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuMicroseconds, residentBytes } from '../accounting.ts';
import { Child } from '../children.ts';
import type { Stage } from '../stage.ts';
import type { Order } from './control.ts';

export interface Relay {
  readonly port: number;
  readonly child: Child;
  /** Whether it reads an `Order`. Relays of this repository do, programs of others do not. */
  readonly takesOrders: boolean;
}

const CONTROL = fileURLToPath(new URL('control.ts', import.meta.url));

/** Starts a Node program that prints its port, on the core of the relays. */
export async function startNode(stage: Stage, program: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Relay> {
  const command = stage.cores.pinned('relay', [process.execPath, '--expose-gc', '--import', CONTROL, ...program]);
  const child = new Child(command, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], env: { ...process.env, ...env } });
  const [, port] = await child.line(/^(?:ready|poolgate serves http:\S+:)\s*(\d+)/);
  return { port: Number(port), child, takesOrders: true };
}

export const cpuOf = ({ child }: Relay): number => cpuMicroseconds(child.pid);

/** Resident bytes after garbage has been collected. */
export async function residentOf(relay: Relay): Promise<number> {
  await order(relay, { order: 'collect' });
  return residentBytes(relay.child.pid);
}

export async function order({ child, takesOrders }: Relay, what: Order): Promise<void> {
  if (!takesOrders) return;
  const done = once(child.process, 'message');
  child.process.send(what);
  await done;
}
