// Load of JSON requests over kept-alive connections, by wrk if it is installed, otherwise by autocannon.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installed, outputOf } from './children.ts';
import type { Stage } from './stage.ts';
import type { Wire } from './wire.ts';

export interface JsonLoad {
  readonly port: number;
  readonly request: Wire;
  readonly connections: number;
  /** Whole seconds, as wrk requires. */
  readonly seconds: number;
}

export interface Answered {
  readonly requests: number;
  /** Requests with a status of 400 or more, and requests without an answer. */
  readonly refused: number;
}

export const jsonGenerator = async (): Promise<'wrk' | 'autocannon'> => ((await installed('wrk')) ? 'wrk' : 'autocannon');

export async function loadJson(stage: Stage, load: JsonLoad): Promise<Answered> {
  return (await jsonGenerator()) === 'wrk' ? withWrk(stage, load) : withAutocannon(stage, load);
}

async function withWrk(stage: Stage, { port, request, connections, seconds }: JsonLoad): Promise<Answered> {
  const script = join(stage.directory, 'request.lua');
  const lua = [
    `wrk.method = "POST"\nwrk.body = ${quoted(request.body)}`,
    ...Object.entries(request.headers).map(([name, value]) => `wrk.headers[ ${quoted(name)} ] = ${quoted(value)}`),
    'function done(summary)',
    '  local e = summary.errors',
    `  print(string.format('{"requests":%d,"refused":%d}', summary.requests, e.status + e.connect + e.read + e.write + e.timeout))`,
    'end',
  ];
  writeFileSync(script, lua.join('\n'));
  const options = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '-s', script];
  const text = await outputOf(stage.cores.pinned('load', ['wrk', ...options, `http://127.0.0.1:${port}${request.path}`]));
  return JSON.parse(/^\{.*\}$/m.exec(text)?.[0] ?? '{}') as Answered;
}

async function withAutocannon(stage: Stage, { port, request, connections, seconds }: JsonLoad): Promise<Answered> {
  const program = fileURLToPath(import.meta.resolve('autocannon'));
  const headers = Object.entries(request.headers).flatMap(([name, value]) => ['-H', `${name}=${value}`]);
  const options = ['--json', '-c', String(connections), '-d', String(seconds), '-m', 'POST', '-b', request.body, ...headers];
  const command = [process.execPath, program, ...options, `http://127.0.0.1:${port}${request.path}`];
  const told = JSON.parse(await outputOf(stage.cores.pinned('load', command))) as { '2xx': number; non2xx: number; errors: number };
  return { requests: told['2xx'] + told.non2xx, refused: told.non2xx + told.errors };
}

/** A Lua string in long brackets of a level that no JSON holds. */
const quoted = (text: string): string => `[==[${text}]==]`;
