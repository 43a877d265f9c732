// Three times the load that the gateway carries: the answer times of accepted turns and of refusals, and whether memory stays flat.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../children.ts';
import { NATIVE_PATH } from '../relays/crew.ts';
import { KEY, startGateway, USUAL } from '../relays/gateway.ts';
import { cpuOf, residentOf } from '../relays/relay.ts';
import type { Measurement } from '../sheet.ts';
import type { Stage } from '../stage.ts';
import { type Plan, requestOf } from '../wire.ts';

const RUNNER = fileURLToPath(new URL('overload-runner.ts', import.meta.url));

export const OVERLOADED = 'at 3 times the load';
export const UNLOADED = 'at a third of the load';

/** Turns of 200 ms. */
const TURN: Plan = { deltas: 10, perSecond: 50 };
const TURN_SECONDS = TURN.deltas / TURN.perSecond;
/** So a turn waits half as long as it runs at most. */
const ADMISSION = { running: 64, waiting: 32, wait_ms: 10_000 };
/** Turns a second. */
const CARRIED = ADMISSION.running / TURN_SECONDS;
/** As long as a refusal may take. A generator that is later has no core of its own: it times the machine. */
const MOST_LATE_MS = 50;
/** Under overload too, so that memory has grown to its size under overload. */
const WARM_SECONDS = 15;

/** The runner's output; times in milliseconds. */
export interface Offered {
  readonly accepted: number;
  readonly refused: number;
  /** Neither 200 nor 503, and those without an answer. */
  readonly failed: number;
  readonly acceptedP50: number;
  readonly acceptedP99: number;
  /** How late the generator itself was with a request. */
  readonly lateP99: number;
  readonly refusedP50: number;
  readonly refusedP99: number;
}

export async function overload({ stage, effort, sheet }: Measurement): Promise<void> {
  const relay = await startGateway(stage, { ...USUAL, admission: { stream: ADMISSION } });
  const at = (factor: number, seconds: number): Promise<Offered> => offered(stage, relay.port, CARRIED * factor, seconds);
  await at(3, WARM_SECONDS);
  const unloaded = await at(1 / 3, effort.seconds * 5);
  const before = await residentOf(relay);
  const cpuBefore = cpuOf(relay);
  const overloaded = await at(3, effort.seconds * 15);
  const cpu = (cpuOf(relay) - cpuBefore) / 1e6 / (effort.seconds * 15);
  const after = await residentOf(relay);
  await relay.child.stop();
  const { accepted, refused } = overloaded;
  process.stderr.write(`overload: ${JSON.stringify({ carried: CARRIED, cpu, unloaded, overloaded })}\n`);
  if (unloaded.failed + unloaded.refused + overloaded.failed > 0) throw new Error('turns failed, or were refused without overload');
  // Less would mean that the gateway, or the machine, did not carry what its slots allow.
  if (accepted < CARRIED * effort.seconds * 15 * 0.8 || refused === 0) throw new Error(`${accepted} turns accepted, ${refused} refused`);
  const late = Math.max(unloaded.lateP99, overloaded.lateP99);
  if (late > MOST_LATE_MS) throw new Error(`nothing was measured: the load itself was ${late.toFixed(0)} ms late on this machine`);
  sheet.add('accepted p99', UNLOADED, unloaded.acceptedP99);
  sheet.add('accepted p99', OVERLOADED, overloaded.acceptedP99);
  sheet.add('refused p99', OVERLOADED, overloaded.refusedP99);
  sheet.add('memory grown under overload', OVERLOADED, Math.max(0, after - before) / 1_048_576);
}

/** Offers so many turns a second, without waiting for them. */
async function offered(stage: Stage, port: number, perSecond: number, seconds: number): Promise<Offered> {
  const request = join(stage.directory, 'overload-request.json');
  writeFileSync(request, JSON.stringify(requestOf({ path: NATIVE_PATH, key: KEY, stream: TURN })));
  const options = [String(port), request, String(perSecond), String(seconds)];
  const child = new Child(stage.cores.pinned('load', [process.execPath, '--import', 'tsx/esm', RUNNER, ...options]));
  const [line] = await child.line(/^\{.*\}$/, (seconds + 60) * 1_000);
  return JSON.parse(line) as Offered;
}
