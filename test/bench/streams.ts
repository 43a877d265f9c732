// Load from the generator in C: streams, and single requests whose time is measured to the microsecond.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from './children.ts';
import type { Stage } from './stage.ts';
import { rawRequest, type Wire } from './wire.ts';

/** The report of the measured seconds, with times in microseconds. */
export interface Report {
  readonly seconds: number;
  readonly replies: number;
  readonly errors: number;
  readonly events: number;
  readonly bytes: number;
  readonly reply_p50: number;
  readonly reply_p99: number;
  readonly event_p50: number;
  readonly event_p99: number;
}

export interface Load {
  readonly port: number;
  /** The requests, which the connections send in rotation. */
  readonly requests: readonly Wire[];
  readonly connections: number;
  readonly warmSeconds: number;
  readonly seconds: number;
  /** Whether the connections stay open after the report, until `stop`. */
  readonly keepsOpen?: boolean;
}

/** A generator each of whose connections has received a part of a reply. */
export interface Loading {
  /** The result of the measurement, at its end. */
  report(): Promise<Report>;
  /** Continues a reader that stalls. */
  resume(): void;
  stop(): Promise<void>;
}

const MARGIN_MS = 60_000;
let files = 0;

export function startLoad(stage: Stage, { port, requests, connections, warmSeconds, seconds, keepsOpen = false }: Load): Promise<Loading> {
  const options = [...[connections, warmSeconds, seconds].map(String), ...(keepsOpen ? ['keep'] : [])];
  return run(stage, port, requests, options, (warmSeconds + seconds) * 1_000);
}

/** Starts one stream whose reader stops at its first bytes. */
export function startStalled(stage: Stage, port: number, request: Wire): Promise<Loading> {
  return run(stage, port, [request], ['stall'], 0);
}

async function run(stage: Stage, port: number, requests: readonly Wire[], options: readonly string[], ms: number): Promise<Loading> {
  const file = join(stage.directory, `requests-${files++}`);
  writeFileSync(file, requests.map(rawRequest).join(''));
  const child = new Child(stage.cores.pinned('load', [stage.client, String(port), file, ...options]));
  await child.line(/^steady$/, ms + MARGIN_MS);
  return {
    async report() {
      const [line] = await child.line(/^\{.*\}$/, ms + MARGIN_MS);
      return JSON.parse(line) as Report;
    },
    resume: () => void child.process.stdin?.end('\n'),
    stop: () => child.kill(),
  };
}
