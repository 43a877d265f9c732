// The thread of the ten keys: what it sends does not delay the clients of the key that works.
import { parentPort, workerData } from 'node:worker_threads';
import { PRESSERS, press } from './pressers.ts';

export interface Pressed {
  readonly name: string;
  /** By status, or by how the connection ended. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface PressersData {
  readonly url: string;
  /** One for each. */
  readonly keys: readonly string[];
}

const { url, keys } = workerData as PressersData;
const over = new AbortController();
parentPort?.once('message', () => over.abort());
const pressed = await Promise.all(
  PRESSERS.map(async (presser, i): Promise<Pressed> => {
    const answers = await press(presser, url, keys[i] ?? '', over.signal);
    return { name: presser.name, answers: Object.fromEntries(answers) };
  }),
);
parentPort?.postMessage(pressed);
