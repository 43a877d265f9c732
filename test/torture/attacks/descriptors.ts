// The gateway has no file descriptors left for clients, accounts and files. It continues when there are some again.
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import type { Attack, Case } from '../attack.ts';
import { HTTP_CALLS } from '../calls/http-calls.ts';
import { runClean } from '../calls/run-call.ts';
import { expect } from '../finding.ts';
import { LOAD_LANES, Load } from '../stage/load.ts';
import type { Stage } from '../stage/stage.ts';

const CLIENTS = 200;

export const descriptors: Attack = {
  name: 'descriptors',
  title: 'no file descriptor left',
  stage: 'ordinary',
  lanes: 1,
  sample: 1,
  // A connection that cannot be accepted gets no answer.
  allows: { unequalRows: true },
  async cases(_stage, random) {
    return casesOf(random);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const left = Math.floor(random.between(0, 12));
    const seed = Math.floor(random.between(0, 1e9));
    yield { name: `${number}:${left} left`, run: (_lane, stage) => starved(stage, left, seed) };
  }
}

async function starved(stage: Stage, left: number, seed: number): Promise<void> {
  const { pid, url } = stage.program;
  const limits = /^Max open files\s+(\d+)/m.exec(execFileSync('cat', [`/proc/${pid}/limits`], { encoding: 'utf8' }))?.[1];
  const used = readdirSync(`/proc/${pid}/fd`).length;
  const { hostname, port } = new URL(url);
  const clients: Socket[] = [];
  const load = new Load(stage, new SeededRandom(seed));
  setLimit(pid, used + left);
  try {
    for (let i = 0; i < CLIENTS; i++) clients.push(connect({ host: hostname, port: Number(port) }).on('error', () => undefined));
    await sleep(700);
    expect(stage.program.isRunning, () => 'the gateway ended');
  } finally {
    for (const client of clients) client.destroy();
    setLimit(pid, Number(limits));
  }
  await load.stop();
  for (const lane of stage.lanes.slice(0, LOAD_LANES)) {
    lane.told.clear();
    // Accounts that could not be connected to have a cooldown.
    await lane.endCooldowns();
    for (const call of HTTP_CALLS) await runClean(lane, call);
  }
}

const setLimit = (pid: number, soft: number): void => void execFileSync('prlimit', ['--pid', String(pid), `--nofile=${soft}:`]);
