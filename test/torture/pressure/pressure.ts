// Ten keys request as much as they can while another key works. The process stays below its guard's share of the memory, the turns of the
// other key succeed, and nothing is held afterwards (Q38).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { stringify } from 'yaml';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { expect } from '../finding.ts';
import type { OwnCase, OwnStage, StagedAttack } from '../own-stage.ts';
import { GatewayProcess, type Vitals } from '../stage/gateway-process.ts';
import { COMMAND } from '../stage/lane.ts';
import { BEARER, keyOf, pressureSettings } from '../stage/settings.ts';
import type { Note } from '../stage/stage.ts';
import { PRESSERS } from './pressers.ts';
import type { Pressed, PressersData } from './pressers-thread.ts';

const PATH = '/backend-api/agent/responses';
const BODY = JSON.stringify(turnBody('hi'));
/**
 * Turns before the measurement. With them V8 compiles the code of a turn and its heap reaches the size that ordinary turns need, which is 75
 * MB more than at the start.
 */
const WARM_TURNS = 3_000;
/** The number of turns of the working key without pressure. */
const ALONE_TURNS = 100;
/** The pause after each turn of the working key, alone and under pressure. */
const TURN_PAUSE_MS = 50;
/** The deadline of one turn of the working key, including its waits for Retry-After. */
const TURN_MS = 60_000;
/** The interval at which the memory of the process is measured. */
const SAMPLE_MS = 250;
const REST_MS = 60_000;
/** The most memory that the program may hold after the pressure in addition to before. */
const LEFT_BYTES = 20_000_000;
/**
 * The growth of its resident memory that is waited for, because the gateway returns memory some time after the last large body. It is only
 * noted, because it depends on the C library.
 */
const LEFT_RESIDENT_BYTES = 100_000_000;

export const pressure: StagedAttack<PressureStage> = {
  name: 'pressure',
  title: 'ten keys that ask for as much as they can at once, and one that works',
  sample: 1,
  open: () => PressureStage.open(),
  *cases(): Generator<OwnCase<PressureStage>> {
    for (const seconds of [10, 600]) yield { name: `${seconds} s`, run: (stage) => pressed(stage, seconds) };
  },
};

class PressureStage implements OwnStage {
  readonly notes = new Map<string, Note>();
  readonly program: GatewayProcess;
  readonly #folder: string;
  readonly #upstream: Upstream;
  turns = 0;
  /** The number of turns of the working key that were refused because of the load of the process. */
  refused = 0;

  private constructor(parts: { readonly program: GatewayProcess; readonly folder: string; readonly upstream: Upstream }) {
    this.program = parts.program;
    this.#folder = parts.folder;
    this.#upstream = parts.upstream;
  }

  static async open(): Promise<PressureStage> {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-pressure-'));
    const upstream = await startUpstream({ strict: false, accounts: [{ id: 'lane-0-a', credential: BEARER }] });
    const config = join(folder, 'config.yaml');
    writeFileSync(
      config,
      stringify(pressureSettings(PRESSERS.length, folder, upstream.urlOf('lane-0-a')), { aliasDuplicateObjects: false }),
    );
    const program = await GatewayProcess.start({ config, env: { TORTURE_BEARER: BEARER }, written: [] });
    return new PressureStage({ program, folder, upstream });
  }

  /** Sends a turn of the working key. If it is refused because of the load it is sent again, as clients do. @returns how long it took */
  async turn(): Promise<number> {
    const began = performance.now();
    const headers = { authorization: `Bearer ${keyOf(PRESSERS.length, 'as ever')}`, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(TURN_MS);
    for (;;) {
      const answer = await fetch(this.program.url + PATH, { method: 'POST', headers, body: BODY, signal });
      const text = await answer.text();
      if (answer.status === 503) {
        this.refused += 1;
        await sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1), undefined, { signal });
        continue;
      }
      const isWhole = answer.status === 200 && text.includes('response.completed');
      expect(isWhole, () => `a turn of the key that works was answered ${answer.status}: ${text.slice(-200)}`);
      this.turns += 1;
      // Cleared, because the record of the provider would grow during the attack.
      this.#upstream.clear();
      return performance.now() - began;
    }
  }

  /** A gauge of `/metrics`. */
  async gauge(name: string): Promise<number> {
    const text = await (await fetch(`${this.program.adminUrl}/metrics`, { headers: COMMAND })).text();
    return Number(new RegExp(`^poolgate_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  }

  note(name: string, value: number, of: string): void {
    this.notes.set(name, { value, of });
  }

  async close(): Promise<void> {
    await this.program.kill();
    await this.#upstream.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function pressed(stage: PressureStage, seconds: number): Promise<void> {
  for (let i = 0; i < WARM_TURNS; i++) await stage.turn();
  const alone: number[] = [];
  for (let i = 0; i < ALONE_TURNS; i++) {
    alone.push(await stage.turn());
    await sleep(TURN_PAUSE_MS);
  }
  const before = await stage.program.vitals();
  const work = { isOver: false };
  const during: number[] = [];
  const turning = (async (): Promise<void> => {
    while (!work.isOver) {
      during.push(await stage.turn());
      await sleep(TURN_PAUSE_MS);
    }
  })();
  await stage.program.longestStop();
  let [mostMemory, mostDelay] = [0, 0];
  const sampling = (async (): Promise<void> => {
    while (!work.isOver) {
      mostMemory = Math.max(mostMemory, 100 * (await stage.gauge('guard_memory_ratio')));
      mostDelay = Math.max(mostDelay, await stage.program.longestStop());
      await sleep(SAMPLE_MS);
    }
  })();
  const keys = PRESSERS.map((_, i) => keyOf(i, 'as ever'));
  const thread = new Worker(new URL('./pressers-thread.ts', import.meta.url), {
    workerData: { url: stage.program.url, keys } satisfies PressersData,
  });
  const answered = new Promise<readonly Pressed[]>((resolve, reject) => thread.once('message', resolve).once('error', reject));
  try {
    await Promise.race([sleep(seconds * 1_000), turning, sampling]);
  } finally {
    work.isOver = true;
    thread.postMessage('over');
  }
  await Promise.all([turning, sampling]);
  const answers = await answered;
  for (const { name, answers: counts } of answers) {
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    stage.note(
      `${name}: requests`,
      total,
      Object.entries(counts)
        .map((one) => one.join(' '))
        .join(', '),
    );
  }
  const after = await rested(stage, before);
  stage.note('percent of its memory', mostMemory, 'the guard refuses from 90 on');
  stage.note('longest stop of the event loop, ms', mostDelay, 'of all');
  stage.note('turns of the key that works', during.length, `of ${seconds} s`);
  for (const [name, share] of [
    ['median', 0.5],
    ['99 %', 0.99],
  ] as const) {
    stage.note(`its time, ${name}, ms`, quantile(during, share), `alone ${quantile(alone, share).toFixed(1)}`);
  }
  stage.note('turns refused for the load', stage.refused, 'and sent again');
  stage.note('resident bytes left', after.rss - before.rss, `of ${before.rss}`);
  expect(mostMemory < 90, () => `${mostMemory.toFixed(0)} % of the memory`);
  expect(heldBy(after) - heldBy(before) <= LEFT_BYTES, () => `${heldBy(after) - heldBy(before)} bytes are left`);
}

/** The memory of the process when nothing of the ten keys is left. @throws Finding */
async function rested(stage: PressureStage, before: Vitals): Promise<Vitals> {
  let last: Vitals | undefined;
  const atRest = async (): Promise<Vitals | undefined> => {
    last = await stage.program.vitals();
    const held = (await stage.gauge('body_bytes_held')) + (await stage.gauge('dense_json_bytes_held'));
    const isLeft = heldBy(last) - heldBy(before) > LEFT_BYTES || last.rss - before.rss > LEFT_RESIDENT_BYTES;
    return held === 0 && !isLeft ? last : undefined;
  };
  await until('rest', atRest, REST_MS).catch(() => undefined);
  return last ?? stage.program.vitals();
}

const heldBy = ({ heapUsed, external }: Vitals): number => heapUsed + external;

const quantile = (times: readonly number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(share * times.length)] ?? 0;
