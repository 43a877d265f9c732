// The thread of the ten keys, so that their work does not delay the clients of the other key.
import { parentPort, workerData } from 'node:worker_threads';
import { PRESSERS, press } from './pressers.ts';

export interface Pressed {
  readonly name: string;
  /** The number of answers by status, or by how the connection ended. */
  readonly answers: Readonly<Record<string, number>>;
}

export interface PressersData {
  readonly url: string;
  /** One key for each presser. */
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
