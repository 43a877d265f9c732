// The stage of every measurement: the upstreams, the compiled generators, and a folder that is removed at the end.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child, installed, outputOf } from './children.ts';
import { type Cores, planCores } from './cores.ts';
import { type Answers, RESPONSES_ANSWERS } from './wire.ts';

export interface Upstream {
  readonly port: number;
}

export interface Stage {
  readonly cores: Cores;
  readonly directory: string;
  readonly upstream: Upstream;
  /** The compiled upstream, which plays prepared answers. */
  readonly player: string;
  /** The compiled load generator. */
  readonly client: string;
  /** The folder for CPU profiles of the measured stretches; undefined if no profiles are made. */
  readonly profiles: string | undefined;
}

const NATIVE = fileURLToPath(new URL('native/', import.meta.url));

/** @throws Error that names what is missing on this machine */
export async function openStage(profiles: string | undefined): Promise<Stage> {
  if (process.platform !== 'linux') throw new Error('the measurements read /proc and need Linux');
  if (!(await installed('cc'))) throw new Error('the load generator is C: apt-get install gcc libc6-dev');
  const directory = mkdtempSync(join(tmpdir(), 'poolgate-bench-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  if (profiles) mkdirSync(profiles, { recursive: true });
  const cores = planCores();
  const [player, client] = await Promise.all([compiled(directory, 'upstream'), compiled(directory, 'client')]);
  const upstream = await startUpstream({ cores, directory, player }, RESPONSES_ANSWERS);
  return { cores, directory, upstream, player, client, profiles };
}

/** Starts an upstream that plays these answers until the measurements end. */
export async function startUpstream(
  { cores, directory, player }: Pick<Stage, 'cores' | 'directory' | 'player'>,
  answers: Answers,
): Promise<Upstream> {
  const folder = mkdtempSync(join(directory, 'answers-'));
  for (const [name, bytes] of Object.entries(answers)) writeFileSync(join(folder, `${name}.http`), bytes);
  const child = new Child(cores.pinned('upstream', [player, folder]));
  const [, port] = await child.line(/^ready (\d+)$/);
  return { port: Number(port) };
}

async function compiled(directory: string, program: string): Promise<string> {
  const binary = join(directory, program);
  await outputOf(['cc', '-O2', '-o', binary, join(NATIVE, `${program}.c`)]);
  return binary;
}
